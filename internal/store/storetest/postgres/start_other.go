//go:build !unix

package postgres

// start is for Unix; elsewhere tests use TEST_DATABASE_URL.
func start(string) (*Instance, error) { return nil, ErrAbsent }
