package main

import (
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"
	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// commands is everything that can stand on the command line, in the environment, and in the help: one struct for all
// three. Nothing else in the program reads flags or the environment, but for what libraries define (PG…, GOMEMLIMIT).
//
// A setting has the variable CALLWRIGHT_ + its flag's name; what says what a command is about (a name, an id) has none.
type commands struct {
	Dev       devCommand       `cmd:"" help:"Start everything on this machine: a demo workspace, agent and key, and no real phone is called."`
	Serve     serveCommand     `cmd:"" help:"Run the server."`
	Call      callCommand      `cmd:"" help:"Place a call and print what is said."`
	Listen    listenCommand    `cmd:"" help:"Print what is said in a call."`
	Doctor    doctorCommand    `cmd:"" help:"Look whether everything that the settings name is there."`
	Migrate   migrateCommand   `cmd:"" help:"Bring the database up to date and exit. serve does so by itself."`
	Workspace workspaceCommand `cmd:"" help:"Make workspaces and set their plans."`
	Key       keyCommand       `cmd:"" help:"Make and delete API keys."`
	MCP       mcpCommand       `cmd:"" name:"mcp" help:"Connect an assistant such as Claude Code, Cursor or VS Code."`
	User      userCommand      `cmd:"" help:"Make users and tokens for them."`
	Bench     benchCommand     `cmd:"" help:"Measure turns, calls and requests on this machine."`
	Version   versionCommand   `cmd:"" help:"Print the version."`
}

// storage is where things are kept. Every command that touches the database has it.
type storage struct {
	DataDir       string `group:"Storage" default:"./data" placeholder:"DIR" help:"Directory of the SQLite file, the recordings and the secret key. It is created. Default: ${default}."`
	DatabaseURL   string `group:"Storage" placeholder:"URL" help:"PostgreSQL database, such as postgres://user:password@host:5432/callwright. Without it: SQLite in the data directory."`
	SecretKeyFile string `group:"Storage" placeholder:"FILE" help:"File with the 32 byte key that seals secrets and signs user tokens; the same for all processes of an installation. Created when absent. Default: secret.key in the data directory."`
	LogLevel      string `group:"Storage" default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"What is logged to stderr: debug, info, warn or error. Default: ${default}. Coloured text on a terminal (NO_COLOR turns the colours off), else JSON."`
}

// serving is how the server meets the world.
type serving struct {
	HTTPAddr       string   `group:"Addresses" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where REST and the pages are served; port 0 takes a free one. Default: ${default}."`
	GRPCAddr       string   `group:"Addresses" default:"127.0.0.1:9090" placeholder:"HOST:PORT" help:"Where gRPC is served. Default: ${default}."`
	GRPCReflection bool     `group:"Addresses" default:"true" negatable:"" help:"Let gRPC clients such as grpcurl ask for the schema. On by default."`
	MetricsAddr    string   `group:"Addresses" placeholder:"HOST:PORT" help:"Loopback address where Prometheus may fetch /metrics. Default: nowhere."`
	PublicURL      string   `group:"Addresses" placeholder:"URL" help:"Address that people and clients reach this server by, shown in links and in recording_url; with https:// cookies are kept to TLS. Default: the address of the request."`
	CORSOrigin     []string `group:"Addresses" name:"cors-origin" placeholder:"ORIGIN" help:"Web page that browsers may let use REST, such as https://app.example.com; repeatable (environment: comma-separated). * lets in every page. Default: none."`
	TrustedProxy   []string `group:"Addresses" placeholder:"CIDR" help:"Network of a proxy in front of this server, such as 10.0.0.0/8; repeatable (environment: comma-separated). Behind it the client's address is taken from X-Forwarded-For or Forwarded. Default: none."`
	telephony
	speaking
	LLMURL   string `group:"Language model" name:"llm-url" placeholder:"URL" help:"OpenAI-compatible server that thinks in calls (--speech cascade), analyses them and writes agents: its base URL, ending in /v1. Without it the built-in analysis repeats what was said and looks for words."`
	LLMKey   string `group:"Language model" name:"llm-key" placeholder:"KEY" help:"Its API key, if it wants one."`
	LLMModel string `group:"Language model" name:"llm-model" placeholder:"NAME" help:"Its model; needed with --llm-url."`
	speakingAtOnce
	joining
	messaging
	RateLimit            int             `group:"Limits" default:"100" placeholder:"N" help:"Requests that a caller may make in any 60 seconds over REST; 0: no limit. Default: ${default}."`
	MCPRateLimit         int             `group:"Limits" name:"mcp-rate-limit" default:"60" placeholder:"N" help:"Requests that a key may make in any 60 seconds to the tool server for assistants; 0: no limit. Default: ${default}."`
	DrainTimeout         time.Duration   `group:"Limits" placeholder:"TIME" help:"How long calls in progress may go on after a stop signal; a second signal ends them at once. Default: 30m, with dev 10s."`
	AllowPrivateNetworks bool            `group:"Limits" help:"Accept http addresses and private networks for webhooks, and private networks for websites; for development on one machine."`
	WebhookBackoff       []time.Duration `group:"Limits" placeholder:"TIME" help:"Pauses between the five attempts of a webhook delivery, each plus or minus 20 percent; the last one repeats. Default: 30s,3m,18m,108m."`
}

// options tell kong how the program explains itself.
func options() []kong.Option {
	return []kong.Option{
		kong.Name("callwright"),
		kong.Description("AI voice agents that place and answer telephone calls, behind a REST and a gRPC interface.\n\n" +
			"Begin with `callwright dev`: it prints an API key and a first call to paste."),
		kong.DefaultEnvars("CALLWRIGHT"),
		kong.TypeMapper(reflect.TypeFor[uuid.UUID](), kong.MapperFunc(readID)),
		kong.Vars{"assistants": strings.Join(assistantNames(), ", ")},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
	}
}

// readID reads an id, and says what one looks like to who typed something else.
func readID(c *kong.DecodeContext, target reflect.Value) error {
	var typed string
	if err := c.Scan.PopValueInto("id", &typed); err != nil {
		return err
	}
	id, err := uuid.Parse(typed)
	if err != nil {
		return errorf("%q is not an id such as 0198c1f2-6b1e-7c3a-9d58-2f4e6a7b8c9d", typed)
	}
	target.Set(reflect.ValueOf(id))
	return nil
}

// terminal is where a command writes.
type terminal struct {
	stdout, stderr io.Writer
}

// interactive reports whether a person reads w.
func interactive(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// logger writes to stderr: for people on a terminal, as JSON otherwise.
func (s storage) logger(t *terminal) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(s.LogLevel)) // one of the four that kong lets pass
	if interactive(t.stderr) {
		return slog.New(tint.NewTextHandler(t.stderr, &tint.Options{
			Level: level, TimeFormat: time.TimeOnly, NoColor: os.Getenv("NO_COLOR") != "",
		}))
	}
	return slog.New(slog.NewJSONHandler(t.stderr, &slog.HandlerOptions{Level: level}))
}

// keyFile is the path of the secret key.
func (s storage) keyFile() string {
	if s.SecretKeyFile != "" {
		return s.SecretKeyFile
	}
	return filepath.Join(s.DataDir, "secret.key")
}

// database names the database for people, without its password.
func (s storage) database() string {
	if s.DatabaseURL == "" {
		return "SQLite"
	}
	return "PostgreSQL"
}

// validate is the first thing that open does.
func (s storage) validate() error {
	if s.DatabaseURL == "" {
		return nil
	}
	u, err := url.Parse(s.DatabaseURL)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" && u.RawQuery == "" {
		return errorf("--database-url must look like postgres://user:password@host:5432/callwright")
	}
	return nil
}

func (s serving) validate() error {
	if err := s.joining.validate(); err != nil {
		return err
	}
	if err := s.messaging.validate(); err != nil {
		return err
	}
	if err := s.telephony.validate(); err != nil {
		return err
	}
	if err := s.validateSpeech(); err != nil {
		return err
	}
	if err := s.validateRealtime(); err != nil {
		return err
	}
	if s.OIDCIssuer != "" && s.PublicURL == "" {
		return errorf("--oidc-issuer needs --public-url, the address that the provider sends people back to")
	}
	if s.PublicURL != "" {
		u, err := url.Parse(s.PublicURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return errorf("--public-url must look like https://calls.example.com")
		}
	}
	for _, origin := range s.CORSOrigin {
		u, err := url.Parse(origin)
		if origin != "*" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || origin != u.Scheme+"://"+u.Host || u.Host == "") {
			return errorf("--cors-origin must look like https://app.example.com, without a path, or be *")
		}
	}
	if _, err := s.trustedProxies(); err != nil {
		return err
	}
	for _, step := range s.WebhookBackoff {
		if step < 0 {
			return errorf("--webhook-backoff must be a list of times such as 30s,3m")
		}
	}
	switch {
	case s.RateLimit < 0:
		return errorf("--rate-limit must be 0 or more")
	case s.MCPRateLimit < 0:
		return errorf("--mcp-rate-limit must be 0 or more")
	case s.DrainTimeout < 0:
		return errorf("--drain-timeout must be 0 or more")
	}
	return nil
}

// publicURL is the address that answers name, without a slash at its end.
func (s serving) publicURL() string { return strings.TrimRight(s.PublicURL, "/") }
