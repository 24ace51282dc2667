// Package agentbuilder makes an agent from a website's address and a few sentences: a job that reads the site, lets a
// model write, and survives a crash at any step.
package agentbuilder
