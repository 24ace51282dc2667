package main

import (
	"cmp"

	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/hosted"
	"github.com/callwright/callwright/internal/conversation/realtime"
	"github.com/callwright/callwright/internal/conversation/scripted"
	"github.com/callwright/callwright/internal/openai"
)

// speaking is how agents hear, think and speak. The language model's own settings are in serving: the analysis and the
// agent builder have them too.
type speaking struct {
	Speech           string `group:"Speech" default:"builtin" enum:"builtin,cascade,realtime" placeholder:"NAME" help:"How agents hear, think and speak. builtin: a scripted talk with no account. cascade: transcription, language model and speech, each by an OpenAI-compatible server. realtime: one speech-to-speech model. Default: ${default}."`
	OpenAIAPIKey     string `group:"Speech" name:"openai-api-key" placeholder:"KEY" help:"Key for api.openai.com; sets the language model and all of the cascade that is not set by the settings below."`
	STTURL           string `group:"Speech" name:"stt-url" placeholder:"URL" help:"OpenAI-compatible server that transcribes: its base URL, ending in /v1."`
	STTKey           string `group:"Speech" name:"stt-key" placeholder:"KEY" help:"Its API key, if it wants one."`
	STTModel         string `group:"Speech" name:"stt-model" placeholder:"NAME" help:"Its model; needed with --stt-url."`
	TTSURL           string `group:"Speech" name:"tts-url" placeholder:"URL" help:"OpenAI-compatible server that speaks: its base URL, ending in /v1."`
	TTSKey           string `group:"Speech" name:"tts-key" placeholder:"KEY" help:"Its API key, if it wants one."`
	TTSModel         string `group:"Speech" name:"tts-model" placeholder:"NAME" help:"Its model; needed with --tts-url."`
	TTSVoice         string `group:"Speech" name:"tts-voice" placeholder:"NAME" help:"Its voice for agents without a voice_id, or with one that it does not know."`
	STTFallbackURL   string `group:"Speech fallbacks" name:"stt-fallback-url" placeholder:"URL" help:"Server that transcribes when the first one fails or is late."`
	STTFallbackKey   string `group:"Speech fallbacks" name:"stt-fallback-key" placeholder:"KEY" help:"Its API key, if it wants one."`
	STTFallbackModel string `group:"Speech fallbacks" name:"stt-fallback-model" placeholder:"NAME" help:"Its model."`
	LLMFallbackURL   string `group:"Speech fallbacks" name:"llm-fallback-url" placeholder:"URL" help:"Language model that answers in calls when the first one fails or is late."`
	LLMFallbackKey   string `group:"Speech fallbacks" name:"llm-fallback-key" placeholder:"KEY" help:"Its API key, if it wants one."`
	LLMFallbackModel string `group:"Speech fallbacks" name:"llm-fallback-model" placeholder:"NAME" help:"Its model."`
	TTSFallbackURL   string `group:"Speech fallbacks" name:"tts-fallback-url" placeholder:"URL" help:"Server that speaks when the first one fails or is late."`
	TTSFallbackKey   string `group:"Speech fallbacks" name:"tts-fallback-key" placeholder:"KEY" help:"Its API key, if it wants one."`
	TTSFallbackModel string `group:"Speech fallbacks" name:"tts-fallback-model" placeholder:"NAME" help:"Its model."`
	TTSFallbackVoice string `group:"Speech fallbacks" name:"tts-fallback-voice" placeholder:"NAME" help:"Its voice."`
}

// What --openai-api-key stands for.
const (
	openAIURL   = "https://api.openai.com/v1"
	openAILLM   = "gpt-4.1-mini"
	openAISTT   = "gpt-4o-mini-transcribe"
	openAITTS   = "gpt-4o-mini-tts"
	openAIVoice = "alloy"
)

// provider is a server of its own settings, or OpenAI's. The key for OpenAI goes to OpenAI only.
func (s speaking) provider(url, key, model, openAIModel string) openai.Config {
	if url != "" || s.OpenAIAPIKey == "" {
		return openai.Config{URL: url, Key: key, Model: model}
	}
	return openai.Config{URL: openAIURL, Key: cmp.Or(key, s.OpenAIAPIKey), Model: cmp.Or(model, openAIModel)}
}

// llm is the language model of calls, analysis and agent builder; without a URL there is none.
func (s serving) llm() openai.Config { return s.provider(s.LLMURL, s.LLMKey, s.LLMModel, openAILLM) }

// hosted are the cascade's servers.
func (s serving) hosted() hosted.Config {
	c := hosted.Config{
		STT: s.provider(s.STTURL, s.STTKey, s.STTModel, openAISTT), LLM: s.llm(),
		TTS:           s.provider(s.TTSURL, s.TTSKey, s.TTSModel, openAITTS),
		STTFallback:   openai.Config{URL: s.STTFallbackURL, Key: s.STTFallbackKey, Model: s.STTFallbackModel},
		LLMFallback:   openai.Config{URL: s.LLMFallbackURL, Key: s.LLMFallbackKey, Model: s.LLMFallbackModel},
		TTSFallback:   openai.Config{URL: s.TTSFallbackURL, Key: s.TTSFallbackKey, Model: s.TTSFallbackModel},
		Voice:         s.TTSVoice,
		FallbackVoice: s.TTSFallbackVoice,
	}
	if c.Voice == "" && c.TTS.URL == openAIURL {
		c.Voice = openAIVoice
	}
	return c
}

func (s serving) validateSpeech() error {
	c := s.hosted()
	for _, part := range []struct {
		name    string
		server  openai.Config
		needed  bool
		settled bool // something of it is set, and nothing else uses it
	}{
		{"stt", c.STT, s.Speech == "cascade", s.STTKey+s.STTModel != "" && s.Speech != "realtime"},
		{"llm", c.LLM, s.Speech == "cascade", s.LLMKey+s.LLMModel != ""},
		{"tts", c.TTS, s.Speech == "cascade", s.TTSKey+s.TTSModel+s.TTSVoice != "" && s.Speech != "realtime"},
		{"stt-fallback", c.STTFallback, false, s.STTFallbackKey+s.STTFallbackModel != ""},
		{"llm-fallback", c.LLMFallback, false, s.LLMFallbackKey+s.LLMFallbackModel != ""},
		{"tts-fallback", c.TTSFallback, false, s.TTSFallbackKey+s.TTSFallbackModel+s.TTSFallbackVoice != ""},
	} {
		switch {
		case part.server.URL == "" && part.needed:
			return errorf("--speech cascade needs --%s-url and --%[1]s-model, or --openai-api-key", part.name)
		case part.server.URL == "" && part.settled:
			return errorf("--%s-url is missing: what else is set of --%[1]s-… has no server to go to", part.name)
		case part.server.URL == "":
			continue
		case part.server.Model == "":
			return errorf("--%s-url needs --%[1]s-model, the name of the model to ask", part.name)
		}
		client, err := openai.New(part.server)
		if err != nil {
			return errorf("--%s-url: %v", part.name, err)
		}
		client.Close()
	}
	return nil
}

// newSpeech is what the settings ask for, and what ends its connections.
func (h *house) newSpeech(voices *voice.Studio) (s conversation.Speech, stop func(), err error) {
	switch h.serving.Speech {
	case "cascade":
		c := h.serving.hosted()
		c.Log = h.log
		s, err := hosted.New(c)
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	case "realtime":
		s, err := realtime.New(h.serving.realtime(h.log))
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	return scripted.New(voices), func() {}, nil
}
