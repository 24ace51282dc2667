package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/callwright/callwright/internal/bench"
)

type benchCommand struct {
	Calls int           `default:"50" env:"-" placeholder:"N" help:"Calls at once in the load phases. Default: ${default}."`
	Span  time.Duration `default:"7s" env:"-" placeholder:"TIME" help:"How long each of the two load phases lasts; the rest takes about twelve seconds. Default: ${default}."`
	JSON  bool          `name:"json" env:"-" help:"Print JSON."`
}

func (benchCommand) Help() string {
	return "Measures this machine with sandbox lines and scripted providers; nothing leaves it. A bare loop that does nothing " +
		"but wake up every 20 ms is measured in the same run, as the ceiling. Voice to voice is counted as in the stereo " +
		"recording, from the caller's last to the agent's first sound; the packet with that sound leaves 20 ms later.\n\n" +
		"Close other programs first, and look at the load: figures of a busy machine say more about its other work."
}

// measured is what bench prints as JSON.
type measured struct {
	Version    string         `json:"version"`
	CPUs       int            `json:"cpus"`
	LoadBefore string         `json:"load_before"`
	LoadAfter  string         `json:"load_after"`
	Calls      int            `json:"calls"`
	Took       float64        `json:"took_seconds"`
	Figures    []bench.Figure `json:"figures"`
}

func (c *benchCommand) Run(ctx context.Context, t *terminal) error {
	switch {
	case c.Calls < 1 || c.Calls > 2000:
		return errorf("--calls must be 1 to 2000")
	case c.Span < 3*time.Second || c.Span > 10*time.Minute:
		return errorf("--span must be 3s to 10m")
	}
	began, m := time.Now(), measured{Version: programVersion(), CPUs: runtime.GOMAXPROCS(0), Calls: c.Calls, LoadBefore: loadAverage()}
	if !c.JSON {
		fmt.Fprintf(t.stderr, "Measuring for about %v …\n", (2*c.Span + 12*time.Second).Round(time.Second))
	}
	var err error
	if m.Figures, err = bench.Talks(ctx, bench.Config{Calls: c.Calls, Span: c.Span}); err != nil {
		return fmt.Errorf("measure talks: %w", err)
	}
	requests, err := benchRequests(ctx)
	if err != nil {
		return fmt.Errorf("measure requests: %w", err)
	}
	m.Figures = append(m.Figures, requests...)
	m.LoadAfter, m.Took = loadAverage(), time.Since(began).Seconds()
	if c.JSON {
		return t.json(m)
	}
	return m.print(t.stdout)
}

// print is the table for people.
func (m measured) print(w io.Writer) error {
	fmt.Fprintf(w, "\n  Callwright %s, %d CPUs, load %s before and %s after, %.0f s\n\n", m.Version, m.CPUs, m.LoadBefore, m.LoadAfter, m.Took)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  \tp50\tp99\t\tgoal\t\t")
	for _, f := range m.Figures {
		p99, goal, verdict := "", "", ""
		if f.P99 > 0 || f.Goal99 > 0 {
			p99 = fmt.Sprintf("%.1f", f.P99)
		}
		if f.Goal50 > 0 {
			goal, verdict = fmt.Sprintf("≤ %g", f.Goal50), "ok"
			if f.Goal99 > 0 && f.Goal99 != f.Goal50 {
				goal += fmt.Sprintf(" / %g", f.Goal99)
			}
			if !f.Met() {
				verdict = "over"
			}
		}
		fmt.Fprintf(table, "  %s\t%.1f\t%s\t%s\t%s\t%s\t\n", f.What, f.P50, p99, f.Unit, goal, verdict)
	}
	err := table.Flush()
	fmt.Fprintln(w)
	return err
}

// loadAverage is that of the last minute; "unknown" where the system does not tell.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

// benchRequests starts the whole server on free loopback ports with a database of its own, and measures from POST /call
// until the line is told to dial, which the sandbox notes. A request that only reads is the ceiling.
func benchRequests(ctx context.Context) (figures []bench.Figure, err error) {
	dir, err := os.MkdirTemp("", "callwright-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	to := serving{
		HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", DrainTimeout: time.Millisecond,
		joining:   joining{SignUp: "invite", PairingLifetime: 15 * time.Minute},
		telephony: telephony{Carrier: "sandbox", SandboxSpeed: 1}, speaking: speaking{Speech: "builtin"},
	}
	quiet := &terminal{stdout: io.Discard, stderr: io.Discard}
	measuring := make(chan error, 1)
	err = serve(ctx, quiet, to, storage{DataDir: dir, LogLevel: "error"}, func(_ context.Context, h *house) error {
		d, err := h.seedDemo(ctx)
		if err != nil {
			return err
		}
		url := h.facts().APIURL
		go func() {
			defer stop()
			var failed error
			figures, failed = requests(ctx, url, d, filepath.Join(dir, "sandbox-dials.log"))
			measuring <- failed
		}()
		return nil
	})
	select {
	case failed := <-measuring:
		if failed != nil {
			return nil, failed
		}
		return figures, err
	default:
		return nil, err
	}
}

// requests measures with a server that runs.
func requests(ctx context.Context, url string, d demo, dials string) ([]bench.Figure, error) {
	const warming, counted = 5, 60
	posted := map[string]time.Time{}
	var post, get []time.Duration
	ask := func(method, path string, body any) (map[string]any, time.Duration, error) {
		text, _ := json.Marshal(body)
		req, err := http.NewRequestWithContext(ctx, method, url+path, bytes.NewReader(text))
		if err != nil {
			return nil, 0, err
		}
		req.Header.Set("Authorization", "Bearer "+d.APIKey)
		req.Header.Set("Content-Type", "application/json")
		begun := time.Now()
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, 0, err
		}
		defer answer.Body.Close()
		var out map[string]any
		if err := json.NewDecoder(answer.Body).Decode(&out); err != nil || answer.StatusCode >= 300 {
			return nil, 0, fmt.Errorf("%s %s answered %s: %v", method, path, answer.Status, err)
		}
		return out, time.Since(begun), nil
	}
	for i := range warming + counted {
		begun := time.Now()
		out, took, err := ask("POST", "/call", map[string]any{"to": "+15005550002", "agent_id": d.AgentID}) // busy after half a second
		if err != nil {
			return nil, err
		}
		_, took2, err := ask("GET", "/calls/"+callID(out), nil)
		if err != nil {
			return nil, err
		}
		if i >= warming {
			posted[callID(out)] = begun
			post, get = append(post, took), append(get, took2)
		}
	}
	dialed, err := dialTimes(ctx, dials, posted)
	if err != nil {
		return nil, err
	}
	limit := 100 * time.Millisecond
	return []bench.Figure{
		bench.Distribution("get_call", "ceiling: GET of one call over loopback", get, 0, 0),
		bench.Distribution("post_call", "POST /call over loopback", post, 0, 0),
		bench.Distribution("post_to_dial", "from POST /call until the line is told to dial", dialed, limit, limit),
	}, nil
}

// callID is the id in the answer to POST /call.
func callID(answer map[string]any) string {
	in, _ := answer["data"].(map[string]any)
	id, _ := in["call_id"].(string)
	return id
}

// dialTimes waits until the sandbox has noted all calls.
func dialTimes(ctx context.Context, file string, posted map[string]time.Time) (took []time.Duration, err error) {
	for deadline := time.Now().Add(10 * time.Second); ; {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		took = took[:0]
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			at, err := time.Parse(time.RFC3339Nano, fields[0])
			if begun, ok := posted[fields[1]]; ok && err == nil {
				took = append(took, at.Sub(begun))
			}
		}
		if len(took) == len(posted) || ctx.Err() != nil || time.Now().After(deadline) {
			return took, ctx.Err()
		}
		time.Sleep(20 * time.Millisecond)
	}
}
