package main

import (
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/callwright/callwright/internal/campaign"
	"github.com/callwright/callwright/internal/messenger"
)

// newCampaigns is the machine behind running campaigns.
func (h *house) newCampaigns() *campaign.Runner {
	return campaign.NewRunner(campaign.Config{DB: h.db, Line: h.line(), Messenger: h.messenger(), Log: h.log})
}

// messenger sends text messages by the provider of the settings; without one it keeps them in a file. The operator's own
// setting names the provider, so that its address is trusted.
func (h *house) messenger() campaign.Messenger {
	s := h.serving
	if s.SMSURL == "" {
		return &messenger.Sandbox{Path: filepath.Join(h.storage.DataDir, "sandbox-messages.log")}
	}
	return messenger.HTTP{
		URL: s.SMSURL, Form: s.SMSFormat == "form", Token: s.SMSToken, FromName: s.SMSFromField, ToName: s.SMSToField,
		TextName: s.SMSTextField, Client: &http.Client{Timeout: 15 * time.Second},
	}
}

// messaging is who sends text messages.
type messaging struct {
	SMSURL       string `group:"Text messages" name:"sms-url" placeholder:"URL" help:"Provider that sends the text messages of campaigns, by one POST each. Without it they are kept in sandbox-messages.log of the data directory and nobody gets them."`
	SMSFormat    string `group:"Text messages" name:"sms-format" default:"json" enum:"json,form" placeholder:"FORMAT" help:"What is posted: json or form. Default: ${default}."`
	SMSToken     string `group:"Text messages" name:"sms-token" placeholder:"TOKEN" help:"Bearer token for the provider, if it wants one. User and password may also stand in the URL."`
	SMSFromField string `group:"Text messages" name:"sms-from-field" default:"from" placeholder:"NAME" help:"What the provider calls the sender's number. Default: ${default}."`
	SMSToField   string `group:"Text messages" name:"sms-to-field" default:"to" placeholder:"NAME" help:"What it calls the receiver's number. Default: ${default}."`
	SMSTextField string `group:"Text messages" name:"sms-text-field" default:"text" placeholder:"NAME" help:"What it calls the text. Default: ${default}."`
}

func (m messaging) validate() error {
	if m.SMSURL == "" {
		return nil
	}
	u, err := url.Parse(m.SMSURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errorf("--sms-url must look like https://messages.example.com/send")
	}
	return nil
}
