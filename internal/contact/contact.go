// Package contact keeps the people a workspace calls: contacts, the definitions of their custom fields, and which
// contacts a telephone number belongs to.
//
// Several contacts may share a phone. Custom-field values that do not fit their definition are dropped and reported,
// never refused; what is stored always fits the definition it was written under.
package contact
