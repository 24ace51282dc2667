package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// reaching is how commands reach a running server.
type reaching struct {
	Server  string `group:"Server" default:"127.0.0.1:9090" placeholder:"HOST:PORT" help:"gRPC address of the server. Default: ${default}."`
	TLS     bool   `group:"Server" name:"server-tls" help:"Reach it over TLS."`
	APIKey  string `group:"Server" name:"api-key" placeholder:"KEY" help:"API key. Default: that of callwright dev in the data directory."`
	DataDir string `group:"Server" default:"./data" placeholder:"DIR" help:"Where callwright dev keeps its key. Default: ${default}."`
	JSON    bool   `env:"-" name:"json" help:"Print each event as one JSON object."`
}

type callCommand struct {
	To    string            `arg:"" help:"Number to call, such as +15005550006."`
	Agent string            `env:"-" placeholder:"ID" help:"Agent that calls. Default: that of callwright dev."`
	Var   map[string]string `env:"-" placeholder:"KEY=VALUE" help:"Variable of the call, for {{var.KEY}}; repeatable."`
	Test  bool              `env:"-" help:"A test conversation: always on the sandbox, no real phone is called."`
	reaching
}

func (callCommand) Help() string {
	return "Places a call and prints what is said while it is said. Ctrl-C leaves the call alone.\n\nExamples:\n" +
		"  callwright call +15005550006 --var name=Maria\n" +
		"  callwright call +14155550123 --agent 0198c1f2-… --server calls.example.com:443 --server-tls --api-key cw_live_…"
}

func (c *callCommand) Run(ctx context.Context, t *terminal) error {
	d := c.demo()
	if c.Agent == "" {
		if d.APIKey == "" || c.APIKey != "" && c.APIKey != d.APIKey {
			return errorf("say which agent calls with --agent")
		}
		c.Agent = d.AgentID.String()
	}
	return c.reach(ctx, d, func(ctx context.Context, calls callwrightv1.CallServiceClient) error {
		placed, err := calls.PlaceCall(ctx, &callwrightv1.PlaceCallRequest{To: c.To, AgentId: c.Agent, Variables: c.Var, Test: c.Test})
		if err != nil {
			return err
		}
		return c.follow(ctx, t, calls, placed.GetData().GetCallId())
	})
}

type listenCommand struct {
	CallID string `arg:"" help:"Id of the call."`
	reaching
}

func (listenCommand) Help() string {
	return "Prints what is said in a call while it is said, from its beginning.\n\nExample:\n  callwright listen 0198c1f2-…"
}

func (c *listenCommand) Run(ctx context.Context, t *terminal) error {
	return c.reach(ctx, c.demo(), func(ctx context.Context, calls callwrightv1.CallServiceClient) error {
		return c.follow(ctx, t, calls, c.CallID)
	})
}

// demo is what callwright dev left in the data directory, if it did.
func (r reaching) demo() (d demo) {
	if file, err := os.ReadFile(filepath.Join(r.DataDir, "dev.json")); err == nil {
		_ = json.Unmarshal(file, &d) // what can not be read is not there
	}
	return d
}

// reach connects, with the key that was given or the demo's.
func (r reaching) reach(ctx context.Context, d demo, use func(context.Context, callwrightv1.CallServiceClient) error) error {
	key := r.APIKey
	if key == "" {
		key = d.APIKey
	}
	if key == "" {
		return errorf("say who you are with --api-key")
	}
	secure := insecure.NewCredentials()
	if r.TLS {
		secure = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	conn, err := grpc.NewClient(r.Server, grpc.WithTransportCredentials(secure))
	if err != nil {
		return errorf("--server: %v", err)
	}
	defer func() { _ = conn.Close() }()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
	err = use(ctx, callwrightv1.NewCallServiceClient(conn))
	if err == nil || ctx.Err() != nil { // Ctrl-C is no failure
		return nil
	}
	said := fault.FromStatus(err)
	if said.Kind == fault.Unavailable {
		return errorf("no server answers at %s: is callwright running, and --server right?", r.Server)
	}
	return errorf("%s", said.Message)
}

// follow prints a call's events until its end. A stream that ends before is opened again where it was.
func (r reaching) follow(ctx context.Context, t *terminal, calls callwrightv1.CallServiceClient, id string) error {
	seen, status := int32(0), callwrightv1.CallStatus_CALL_STATUS_UNSPECIFIED
	for {
		stream, err := calls.FollowCall(ctx, &callwrightv1.FollowCallRequest{Id: id, SkipTurns: seen})
		if err != nil {
			return err
		}
		for {
			event, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if turn := event.GetTurn(); turn != nil {
				seen++
				r.printTurn(t, event, turn)
				continue
			}
			c := event.GetCall()
			if c.GetStatus() != status {
				status = c.GetStatus()
				r.printCall(t, event, c)
			}
			if ended(c) {
				return nil
			}
		}
	}
}

func (r reaching) printTurn(t *terminal, event *callwrightv1.FollowCallResponse, turn *callwrightv1.Turn) {
	if r.JSON {
		printEvent(t, event)
		return
	}
	who, content := turn.GetRole(), printable(turn.GetContent())
	if turn.GetInterrupted() {
		content += " …"
	}
	at := time.Duration(turn.GetStartMs()) * time.Millisecond
	fmt.Fprintf(t.stdout, "%2d:%02d  %-6s  %s\n", int(at.Minutes()), int(at.Seconds())%60, strings.TrimPrefix(who, "function_"), content)
}

func (r reaching) printCall(t *terminal, event *callwrightv1.FollowCallResponse, c *callwrightv1.Call) {
	if r.JSON {
		printEvent(t, event)
		return
	}
	status := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(c.GetStatus().String(), "CALL_STATUS_"), "_", "-"))
	line := fmt.Sprintf("       %s", status)
	if !ended(c) {
		fmt.Fprintf(t.stdout, "%s  %s → %s  %s\n", line, c.GetFrom(), c.GetTo(), c.GetId())
		return
	}
	if c.Duration != nil {
		line += fmt.Sprintf("  %d s", c.GetDuration())
	}
	fmt.Fprintf(t.stdout, "%s  %s\n", line, printable(c.GetEndedMessage()))
}

// ended reports whether a call can not go on.
func ended(c *callwrightv1.Call) bool {
	return c.GetStatus() >= callwrightv1.CallStatus_CALL_STATUS_COMPLETED
}

// printEvent prints one line.
func printEvent(t *terminal, event *callwrightv1.FollowCallResponse) {
	var line bytes.Buffer
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(event)
	if err == nil && json.Compact(&line, text) == nil {
		fmt.Fprintln(t.stdout, line.String())
	}
}

// printable keeps what strangers say from moving the cursor.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}
