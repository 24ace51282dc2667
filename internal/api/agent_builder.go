package api

import (
	"context"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/agentbuilder"
)

// agentBuilds is the specification's section Agent builder.
type agentBuilds struct {
	callwrightv1.UnimplementedAgentBuilderServiceServer
	rules agentbuilder.Builds
}

// spec: Agent builder, POST /agent-builder.
func (s *agentBuilds) CreateAgentBuild(ctx context.Context, in *callwrightv1.CreateAgentBuildRequest) (*callwrightv1.CreateAgentBuildResponse, error) {
	row, err := s.rules.Create(ctx, agentbuilder.Request{WebsiteURL: in.GetWebsiteUrl(), Instructions: in.GetInstructions()})
	if err != nil {
		return nil, err
	}
	return &callwrightv1.CreateAgentBuildResponse{
		Message: "The job was accepted. Read it until it is completed or failed.",
		Data:    &callwrightv1.QueuedAgentBuild{JobId: row.ID.String(), Status: agentbuilder.Queued},
	}, nil
}

// spec: Agent builder, GET /agent-builder/{job_id}.
func (s *agentBuilds) GetAgentBuild(ctx context.Context, in *callwrightv1.GetAgentBuildRequest) (*callwrightv1.GetAgentBuildResponse, error) {
	id, err := parseID("job_id", in.GetJobId())
	if err != nil {
		return nil, err
	}
	row, err := agentbuilder.Get(ctx, s.rules.DB.Ent(), id)
	if err != nil {
		return nil, err
	}
	data, err := encodeAgentBuild(row)
	return &callwrightv1.GetAgentBuildResponse{Message: buildMessages[row.Status], Data: data}, err
}

// buildMessages say to people where a job stands.
var buildMessages = map[string]string{
	agentbuilder.Queued:     "The job is waiting.",
	agentbuilder.Processing: "The job is at work.",
	agentbuilder.Completed:  "The agent was created.",
	agentbuilder.Failed:     "No agent was created.",
}

var buildStatuses = textsOf[callwrightv1.AgentBuildStatus]()

func encodeAgentBuild(row *ent.AgentBuild) (*callwrightv1.AgentBuild, error) {
	site, err := agentbuilder.SiteOf(row)
	if err != nil {
		return nil, err
	}
	p := &callwrightv1.AgentBuildProgress{
		Step: text(row.Step), PagesFound: int32(row.PagesFound), PagesRead: int32(row.PagesRead),
		Writer: text(row.Writer), Note: text(row.Note), ErrorCode: text(row.ErrorCode),
		FinishedAt: optionalTime(row.FinishedAt),
	}
	if site != nil {
		for _, page := range site.Pages {
			p.Pages = append(p.Pages, &callwrightv1.AgentBuildPage{
				Url: page.URL, Title: page.Title, Characters: int32(utf8.RuneCountInString(page.Markdown)),
			})
		}
	}
	out := &callwrightv1.AgentBuild{
		JobId: row.ID.String(), Status: buildStatuses.number(row.Status), WebsiteUrl: text(row.WebsiteURL),
		CreatedAt: timestamppb.New(row.CreatedAt), Progress: p,
	}
	switch row.Status {
	case agentbuilder.Completed:
		id := row.AgentID.String()
		out.AgentId = &id
	case agentbuilder.Failed:
		out.Error = &row.Error
	}
	return out, nil
}
