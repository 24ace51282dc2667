package api

import (
	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/fault"
)

// canonical is the length of xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, the one form of an id that is taken, in any case.
// uuid.Parse alone would also take braces, urn: and bare digits.
const canonical = 36

// parseID reads the id in a field. A malformed one is refused before anything is looked up (CONTRACT.md §1, Foreign ids).
func parseID(field, text string) (uuid.UUID, error) {
	if len(text) == canonical {
		if id, err := uuid.Parse(text); err == nil {
			return id, nil
		}
	}
	return uuid.Nil, fault.Invalidf("%s must be a UUID", field)
}

// parseFilterID is parseID for a field that narrows a list: an empty one narrows nothing.
func parseFilterID(field, text string) (*uuid.UUID, error) {
	if text == "" {
		return nil, nil
	}
	id, err := parseID(field, text)
	if err != nil {
		return nil, err
	}
	return &id, nil
}

// optionalID prints an id that may be absent.
func optionalID(id *uuid.UUID) *string {
	if id == nil {
		return nil
	}
	text := id.String()
	return &text
}
