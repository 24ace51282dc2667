// Package policy decides whether a number may be called now.
//
// There is one decision before every outbound call, made when it is placed and again at the moment of dialing, and kept
// with what it looked at.
package policy
