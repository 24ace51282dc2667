package campaign

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/enrollment"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// maxEntries is how many contacts one request enrolls (CONTRACT.md §2, Campaign enrollment).
const maxEntries = 10_000

// Entry is a contact to create, or to find by its phone, and to enroll.
type Entry struct {
	contact.Input
	Variables map[string]string
}

// Request is what Enroll enrolls.
type Request struct {
	ContactIDs []uuid.UUID
	Contacts   []Entry
	// AllowDuplicatePhone makes every entry of Contacts a new contact.
	AllowDuplicatePhone bool
}

// Codes of a Warning.
const (
	MultipleMatches = "multiple_matches"
	NotFound        = "contact_not_found"
	AlreadyEnrolled = "already_enrolled"
)

// Warning is something to know about an entry of a request.
type Warning struct {
	// Index is its position in ContactIDs or Contacts.
	Index         int
	Phone         string
	Code, Message string
	ContactID     *uuid.UUID
	// MatchCount is how many contacts have the phone.
	MatchCount int
}

// FieldWarning is an entry of custom_fields that was dropped.
type FieldWarning struct {
	Index int
	Phone string
	contact.Warning
}

// Enrolled is what a request did.
type Enrolled struct {
	// Added are newly enrolled, in the order of the request, ContactIDs first.
	Added []uuid.UUID
	// Status is that of the first pending call, ScheduledTime the earliest instant at which one may be made.
	Status        call.Status
	ScheduledTime time.Time
	Warnings      []Warning
	FieldWarnings []FieldWarning
}

// Enroll enrolls contacts, all of the request or nothing. Errors: campaign_not_found, campaign_ended (409),
// validation_failed, invalid_variables. spec: Campaign enrollment, POST /campaign/{campaign_id}/contact.
func Enroll(ctx context.Context, db *store.DB, id uuid.UUID, r Request) (out Enrolled, err error) {
	if r, err = r.checked(); err != nil {
		return out, err
	}
	err = locked(ctx, db, id, func(ctx context.Context, tx *store.Tx, c *ent.Campaign) error {
		if Status(c.Status).Ended() {
			return ended(c.Status)
		}
		p := &enrolling{tx: tx, campaign: c, at: map[uuid.UUID]int{}}
		if err := p.read(ctx, r); err != nil {
			return err
		}
		if err := p.write(ctx); err != nil {
			return err
		}
		out = p.out
		return nil
	})
	return out, err
}

func (r Request) checked() (Request, error) {
	switch n := len(r.ContactIDs) + len(r.Contacts); {
	case n == 0:
		return r, fault.Invalidf("contact_ids or contacts must have at least one entry")
	case n > maxEntries:
		return r, fault.Invalidf("contact_ids and contacts must have at most %d entries together, not %d", maxEntries, n)
	}
	r.Contacts = slices.Clone(r.Contacts)
	for i, e := range r.Contacts {
		if e.Phone == nil || *e.Phone == "" {
			return r, fault.Invalidf("contacts[%d].phone is required", i)
		}
		in, err := e.Check()
		if err != nil {
			return r, named(i, err)
		}
		if err := call.CheckVariables(e.Variables); err != nil {
			return r, named(i, err)
		}
		r.Contacts[i].Input = in
	}
	return r, nil
}

// named says which entry an error is about.
func named(i int, err error) error {
	f := *fault.From(err)
	f.Message = fmt.Sprintf("contacts[%d].%s", i, f.Message)
	return f.With("index", i)
}

// enrolling is a request on its way.
type enrolling struct {
	tx       *store.Tx
	campaign *ent.Campaign
	out      Enrolled
	// added are the new enrollments; at says where a contact's stands.
	added []planned
	at    map[uuid.UUID]int
	// again are the phones of contacts that were enrolled before.
	again []string
	// there are the contacts that were enrolled before, refreshed those of them that get variables.
	there     map[uuid.UUID]*ent.Enrollment
	refreshed map[uuid.UUID]map[string]string
}

type planned struct {
	id, contact uuid.UUID
	phone       string
	vars        map[string]string
}

func (p *enrolling) read(ctx context.Context, r Request) error {
	known, err := contact.ByIDs(ctx, p.tx.Client, r.ContactIDs)
	if err != nil {
		return err
	}
	inputs := make([]contact.Input, len(r.Contacts))
	for i, e := range r.Contacts {
		inputs[i] = e.Input
	}
	upserted, err := contact.Upsert(ctx, p.tx, inputs, r.AllowDuplicatePhone)
	if err != nil {
		return fmt.Errorf("write contacts: %w", err)
	}
	if err := p.readEnrolled(ctx, slices.Collect(maps.Keys(known)), upserted); err != nil {
		return err
	}
	for i, id := range r.ContactIDs {
		row := known[id]
		if row == nil {
			p.out.Warnings = append(p.out.Warnings, Warning{Index: i, Code: NotFound, Message: "The workspace has no such contact.", ContactID: &id})
			continue
		}
		if !p.add(id, row.Phone, nil) {
			p.out.Warnings = append(p.out.Warnings, Warning{
				Index: i, Phone: row.Phone, Code: AlreadyEnrolled, Message: "The contact is enrolled already.", ContactID: &id,
			})
		}
	}
	for i, u := range upserted {
		for _, w := range u.Warnings {
			p.out.FieldWarnings = append(p.out.FieldWarnings, FieldWarning{i, u.Phone, w})
		}
		if u.Matches > 1 {
			p.out.Warnings = append(p.out.Warnings, Warning{
				Index: i, Phone: u.Phone, Code: MultipleMatches, ContactID: &u.ID, MatchCount: u.Matches,
				Message: fmt.Sprintf("%d contacts have this phone; the newest was taken.", u.Matches),
			})
		}
		p.add(u.ID, u.Phone, r.Contacts[i].Variables)
	}
	return nil
}

func (p *enrolling) readEnrolled(ctx context.Context, ids []uuid.UUID, upserted []contact.Upserted) error {
	for _, u := range upserted {
		if u.Matches > 0 { // who is new is enrolled nowhere
			ids = append(ids, u.ID)
		}
	}
	p.there, p.refreshed = map[uuid.UUID]*ent.Enrollment{}, map[uuid.UUID]map[string]string{}
	for part := range slices.Chunk(ids, 5000) {
		rows, err := p.tx.Enrollment.Query().
			Where(enrollment.CampaignID(p.campaign.ID), enrollment.ContactIDIn(part...)).All(ctx)
		if err != nil {
			return fmt.Errorf("read enrollments: %w", err)
		}
		for _, e := range rows {
			p.there[e.ContactID] = e
		}
	}
	return nil
}

// add enrolls a contact, or refreshes the variables of its enrollment. It reports whether it was new.
func (p *enrolling) add(id uuid.UUID, phone string, vars map[string]string) bool {
	if e := p.there[id]; e != nil {
		p.again = append(p.again, phone)
		if len(vars) > 0 && !maps.Equal(vars, e.Variables) {
			p.refreshed[id] = vars
		}
		return false
	}
	if i, ok := p.at[id]; ok {
		if len(vars) > 0 {
			p.added[i].vars = vars
		}
		return false
	}
	p.at[id] = len(p.added)
	p.added = append(p.added, planned{store.NewID(), id, phone, vars})
	p.out.Added = append(p.out.Added, id)
	return true
}

// write makes the enrollments and their first calls.
func (p *enrolling) write(ctx context.Context) error {
	steps, schedule, err := Read(p.campaign)
	if err != nil {
		return err
	}
	now := store.Now()
	times, err := newOpenings(ctx, p.tx.Client, p.campaign, schedule)
	if err != nil {
		return err
	}
	status := map[string]call.Status{
		string(StatusDraft): call.StatusNotScheduled, string(StatusRunning): call.StatusScheduled, string(StatusPaused): call.StatusPaused,
	}[p.campaign.Status]
	p.out.Status, p.out.ScheduledTime = status, schedule.begin(now)
	rows := make([][]any, len(p.added))
	calls := make([]call.Planned, len(p.added))
	from := ""
	if p.campaign.AgentID != nil {
		if from, err = call.From(ctx, p.tx.Client, *p.campaign.AgentID); err != nil {
			return err
		}
	}
	if len(p.added) == 0 { // the calls of this request are those that wait already
		for i, number := range p.again {
			at, err := times.from(schedule.begin(now), number)
			if err != nil {
				return err
			}
			if i == 0 || at.Before(p.out.ScheduledTime) {
				p.out.ScheduledTime = at
			}
		}
	}
	for i, e := range p.added {
		at, err := times.from(schedule.begin(now), e.phone)
		if err != nil {
			return err
		}
		if i == 0 || at.Before(p.out.ScheduledTime) {
			p.out.ScheduledTime = at
		}
		due := &at
		if status == call.StatusNotScheduled {
			due = nil
		}
		calls[i] = call.Planned{
			ID: store.NewID(), ContactID: e.contact, CampaignID: p.campaign.ID, EnrollmentID: e.id, To: e.phone, From: from,
			Status: status, ScheduleTime: due, Variables: e.vars,
		}
		var callID *uuid.UUID
		if steps[0].Type == StepCall && p.campaign.AgentID != nil {
			calls[i].AgentID = *p.campaign.AgentID
			callID = &calls[i].ID
		}
		vars, err := call.VariablesColumn(e.vars)
		if err != nil {
			return err
		}
		rows[i] = []any{e.id, now, now, p.campaign.ID, e.contact, EnrolledPending, 0, 0, due, vars, callID}
	}
	err = p.tx.Insert(ctx, enrollment.Table, []string{
		enrollment.FieldID, enrollment.FieldCreatedAt, enrollment.FieldUpdatedAt, enrollment.FieldCampaignID,
		enrollment.FieldContactID, enrollment.FieldStatus, enrollment.FieldStep, enrollment.FieldAttempts,
		enrollment.FieldNextAttemptAt, enrollment.FieldVariables, enrollment.FieldCallID,
	}, rows)
	if err != nil {
		return fmt.Errorf("write enrollments: %w", err)
	}
	if steps[0].Type == StepCall && p.campaign.AgentID != nil {
		if err := call.Plan(ctx, p.tx, p.campaign.WorkspaceID, calls); err != nil {
			return err
		}
	}
	return p.refresh(ctx)
}

// refresh writes new variables of contacts that were enrolled before; nothing else of them changes.
func (p *enrolling) refresh(ctx context.Context) error {
	var rows []*ent.EnrollmentCreate
	for id, vars := range p.refreshed {
		e := p.there[id]
		rows = append(rows, p.tx.Enrollment.Create().SetID(e.ID).SetWorkspaceID(e.WorkspaceID).SetCampaignID(e.CampaignID).
			SetContactID(id).SetVariables(vars).SetUpdatedAt(store.Now()))
	}
	for part := range slices.Chunk(rows, 1000) {
		err := p.tx.Enrollment.CreateBulk(part...).
			OnConflictColumns(enrollment.FieldWorkspaceID, enrollment.FieldCampaignID, enrollment.FieldContactID).
			Update(func(u *ent.EnrollmentUpsert) { u.UpdateVariables().UpdateUpdatedAt() }).Exec(ctx)
		if err != nil {
			return fmt.Errorf("refresh variables: %w", err)
		}
	}
	return nil
}

// begin is from when on the schedule lets anything happen.
func (s Schedule) begin(now time.Time) time.Time {
	if s.StartAt != nil && s.StartAt.After(now) {
		return s.StartAt.UTC().Truncate(time.Microsecond)
	}
	return now
}

func joined(zones []string) string { return strings.Join(zones, " ") }
