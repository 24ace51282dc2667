package store

import (
	"database/sql/driver"
	"strings"

	"modernc.org/sqlite"
)

// Lower is the name of a function that SQLite has beside its own LOWER, which knows ASCII only.
const Lower = "UNICODE_LOWER"

func init() {
	sqlite.MustRegisterDeterministicScalarFunction(Lower, 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		if text, ok := args[0].(string); ok {
			return strings.ToLower(text), nil
		}
		return args[0], nil
	})
}
