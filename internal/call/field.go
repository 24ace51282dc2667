package call

import (
	"entgo.io/ent/dialect/sql"

	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/filter"
	"github.com/callwright/callwright/internal/store"
)

// table is what calls are filtered and ordered by (CONTRACT.md §2, where and orderBy).
var table = filter.Table{
	Fields: map[string]filter.Field{
		"id":          {Column: call.FieldID, Kind: filter.ID},
		"created_at":  {Column: call.FieldCreatedAt, Kind: filter.Time},
		"to":          {Column: call.FieldToNumber, Kind: filter.Phone},
		"from":        {Column: call.FieldFromNumber, Kind: filter.Phone},
		"status":      {Column: call.FieldStatus, Kind: filter.Enum, Texts: enumTexts["status"]},
		"duration":    {Column: call.FieldDuration, Kind: filter.Int, Nullable: true},
		"direction":   {Column: call.FieldDirection, Kind: filter.Enum, Texts: enumTexts["direction"]},
		"agent_id":    {Column: call.FieldAgentID, Kind: filter.ID, Nullable: true},
		"contact_id":  {Column: call.FieldContactID, Kind: filter.ID, Nullable: true},
		"campaign_id": {Column: call.FieldCampaignID, Kind: filter.ID, Nullable: true},
		"answered_by": {Column: call.FieldAnsweredBy, Kind: filter.Enum, Nullable: true, Texts: enumTexts["answered_by"]},
	},
	JSON: map[string]string{"metadata": call.FieldMetadata},
	Orders: map[string]func(desc bool) func(*sql.Selector){
		"created_at": func(desc bool) func(*sql.Selector) { return call.ByCreatedAt(filter.Directed(desc)) },
		// Calls without a duration come last in both directions: the databases disagree about it.
		"duration": func(desc bool) func(*sql.Selector) {
			return call.ByDuration(filter.Directed(desc), sql.OrderNullsLast())
		},
		"status": func(desc bool) func(*sql.Selector) { return store.OrderText(call.FieldStatus, desc) },
		"to":     func(desc bool) func(*sql.Selector) { return store.OrderText(call.FieldToNumber, desc) },
		"from":   func(desc bool) func(*sql.Selector) { return store.OrderText(call.FieldFromNumber, desc) },
	},
}
