// Package analysis keeps what was concluded after a call, and the call tags, the workspace's labels for it.
//
// An analysis refers to at most one tag. A tag's row is locked while it is deleted and the reference is a foreign key, so
// that no association is lost: a reference that comes at the same time is counted, or finds no tag.
package analysis
