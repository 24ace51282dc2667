// Package agentbuilder makes an agent from a website's address and a few sentences: a job that reads the site, lets a
// model write, and survives a crash at any step.
//
// # Steps
//
// A job is queued, then it reads (unless there are only instructions), then it writes. Each step is a River job of its own
// that the step before it enqueues in the transaction that keeps its result, so that a crash runs one step again. The id
// of the agent is chosen with the job, and the agent is made in the transaction that completes the job: there is one, or
// none.
//
// # What strangers say stays data
//
// Four walls stand between the text of a page and the rules of an agent. Sentences that give orders to a machine are taken
// out where a page is read (orders.go). The model gets the pages fenced, as material. What it writes is checked by code
// (check.go): rules hold no address, no telephone number and no words of a page's orders, numbers among the facts stand on
// the site. What an agent knows of the site stands in its prompt as information that changes no rule, and the first rules
// of every agent are written by code. No text of a page can name a template's variable.
//
// spec: Agent builder; CONTRACT.md §2, Agent builder.
package agentbuilder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/agentbuild"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// Where a job stands. spec: Agent builder job status values.
const (
	Queued     = "queued"
	Processing = "processing"
	Completed  = "completed"
	Failed     = "failed"
)

// The steps of a job.
const (
	StepRead  = "read"
	StepWrite = "write"
)

// Builtin is the writer of agents that no model wrote.
const Builtin = "builtin"

// Daily is how many jobs a workspace may start in any 24 hours. spec: Limits.
const Daily = 50

// maxInstructions is in code points.
const maxInstructions = 10_000

// Queue is the queue of this package's jobs, apart from those that calls wait for.
const Queue = "agent_build"

// Build is the job "do this step of this agent build".
type Build struct {
	WorkspaceID uuid.UUID `json:"workspace_id"`
	JobID       uuid.UUID `json:"job_id"`
	Step        string    `json:"step"`
}

// Kind is the job's name in the queue.
func (Build) Kind() string { return "agent_build" }

// Builds are the jobs of the workspace in the context.
type Builds struct {
	DB *store.DB
	// Egress judges addresses.
	Egress *egress.Client
}

// Request is what to make an agent from. At least one of the two is not empty.
type Request struct {
	// WebsiteURL is http or https and leads to a public host.
	WebsiteURL string
	// Instructions have at most 10,000 characters.
	Instructions string
}

// Create starts a job. Errors: validation_failed, job_limit_reached (429: details.limit and details.resets_at; no record is
// left).
func (b Builds) Create(ctx context.Context, r Request) (*ent.AgentBuild, error) {
	if err := b.check(&r); err != nil {
		return nil, err
	}
	workspace, ok := store.Workspace(ctx)
	if !ok {
		return nil, store.ErrNoWorkspace
	}
	id, agentID := store.NewID(), store.NewID()
	first := StepRead
	if r.WebsiteURL == "" {
		first = StepWrite
	}
	var row *ent.AgentBuild
	err := b.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := identity.LockPlan(ctx, tx, workspace); err != nil { // jobs are counted one after the other
			return err
		}
		now := store.Now()
		if err := admit(ctx, tx.Client, now); err != nil {
			return err
		}
		var err error
		row, err = tx.AgentBuild.Create().SetID(id).SetWorkspaceID(workspace).SetAgentID(agentID).SetStatus(Queued).
			SetWebsiteURL(r.WebsiteURL).SetInstructions(r.Instructions).SetCreatedAt(now).SetUpdatedAt(now).Save(ctx)
		if err != nil {
			return fmt.Errorf("create an agent build: %w", err)
		}
		return enqueue(ctx, tx, row, first)
	})
	if errors.Is(err, store.ErrCommitUnknown) {
		if there, lookup := Get(ctx, b.DB.Ent(), id); lookup == nil {
			return there, nil
		}
	}
	return row, err
}

// check takes the spaces around the fields away.
func (b Builds) check(r *Request) error {
	r.WebsiteURL, r.Instructions = strings.TrimSpace(r.WebsiteURL), strings.TrimSpace(r.Instructions)
	if r.WebsiteURL == "" && r.Instructions == "" {
		return fault.Invalidf("website_url or instructions must be given")
	}
	switch {
	case !utf8.ValidString(r.Instructions) || strings.IndexByte(r.Instructions, 0) >= 0:
		return fault.Invalidf("instructions must be valid UTF-8 without a NUL character")
	case utf8.RuneCountInString(r.Instructions) > maxInstructions:
		return fault.Invalidf("instructions must have at most %d characters", maxInstructions)
	case r.WebsiteURL == "":
		return nil
	case !utf8.ValidString(r.WebsiteURL):
		return fault.Invalidf("website_url must be valid UTF-8")
	}
	return b.Egress.CheckURL(egress.Crawl, "website_url", r.WebsiteURL)
}

// admit refuses the 51st job of a rolling day. The caller holds the workspace's lock.
func admit(ctx context.Context, c *ent.Client, now time.Time) error {
	const day = 24 * time.Hour
	last, err := c.AgentBuild.Query().Where(agentbuild.CreatedAtGT(now.Add(-day))).
		Order(agentbuild.ByCreatedAt(sql.OrderDesc()), agentbuild.ByID(sql.OrderDesc())).Offset(Daily - 1).Limit(1).All(ctx)
	if err != nil || len(last) == 0 {
		return err
	}
	free := last[0].CreatedAt.Add(day)
	f := fault.New(fault.TooMany, "job_limit_reached", "A workspace may start %d jobs of the agent builder in 24 hours.", Daily).
		With("limit", Daily).With("resets_at", free.UTC().Format("2006-01-02T15:04:05.000Z"))
	f.RetryAfter = free.Sub(now)
	return f
}

func enqueue(ctx context.Context, tx *store.Tx, row *ent.AgentBuild, step string) error {
	return tx.Enqueue(ctx, Build{WorkspaceID: row.WorkspaceID, JobID: row.ID, Step: step}, &river.InsertOpts{Queue: Queue})
}

// Get reads a job of the workspace; job_not_found when it has none with this id.
func Get(ctx context.Context, c *ent.Client, id uuid.UUID) (*ent.AgentBuild, error) {
	row, err := c.AgentBuild.Query().Where(agentbuild.ID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.Missing("job")
	}
	return row, err
}

// SiteOf is what the job read; nil before, and for a job from instructions alone.
func SiteOf(row *ent.AgentBuild) (*Site, error) {
	if len(row.Pages) == 0 || string(row.Pages) == "null" {
		return nil, nil
	}
	var s Site
	if err := json.Unmarshal(row.Pages, &s); err != nil {
		return nil, fmt.Errorf("read the pages of agent build %s: %w", row.ID, err)
	}
	return &s, nil
}
