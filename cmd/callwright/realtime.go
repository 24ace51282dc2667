package main

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/callwright/callwright/internal/conversation/realtime"
	"github.com/callwright/callwright/internal/openai"
)

// speakingAtOnce is a model that hears and speaks.
type speakingAtOnce struct {
	RealtimeURL   string `group:"Speech" name:"realtime-url" placeholder:"URL" help:"Server of the OpenAI Realtime protocol for --speech realtime: its base URL, ending in /v1 (https or wss). Its transcripts are made by --stt-model, its voice is --tts-voice for agents without a voice_id."`
	RealtimeKey   string `group:"Speech" name:"realtime-key" placeholder:"KEY" help:"Its API key, if it wants one."`
	RealtimeModel string `group:"Speech" name:"realtime-model" placeholder:"NAME" help:"Its model; needed with --realtime-url."`
}

// openAIRealtime goes with --openai-api-key.
const openAIRealtime = "gpt-realtime"

func (s serving) realtime(log *slog.Logger) realtime.Config {
	c := s.provider(s.RealtimeURL, s.RealtimeKey, s.RealtimeModel, openAIRealtime)
	return realtime.Config{
		URL: c.URL, Key: c.Key, Model: c.Model,
		Transcriber: cmp.Or(s.STTModel, openAISTT), Voice: s.TTSVoice, Log: log,
	}
}

// realtime connects to the model for a moment.
func (d *doctor) realtime(ctx context.Context) {
	if d.serving.Speech != "realtime" {
		return
	}
	c := d.serving.realtime(nil)
	client, err := openai.NewRealtime(openai.RealtimeConfig{URL: c.URL, Key: c.Key, Model: c.Model, OpenTimeout: 8 * time.Second})
	if err != nil {
		d.add("realtime model", broken, err.Error(), "")
		return
	}
	conn, err := client.Connect(ctx)
	if err != nil {
		d.add("realtime model", broken, c.URL+": "+err.Error(), "are address, key and model right, and can this machine reach it?")
		return
	}
	_ = conn.Close()
	d.add("realtime model", fine, c.URL+" answers", "")
}

func (s serving) validateRealtime() error {
	c := s.realtime(nil)
	switch {
	case c.URL == "" && s.Speech == "realtime":
		return errorf("--speech realtime needs --realtime-url and --realtime-model, or --openai-api-key")
	case c.URL == "" && s.RealtimeKey+s.RealtimeModel != "":
		return errorf("--realtime-url is missing: what else is set of --realtime-… has no server to go to")
	case c.URL == "":
		return nil
	case c.Model == "":
		return errorf("--realtime-url needs --realtime-model, the name of the model to ask")
	}
	if _, err := realtime.New(c); err != nil {
		return errorf("--realtime-url: %v", err)
	}
	return nil
}
