package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/callwright/callwright/ent"
)

// Settings are the fields of an agent that people set (CONTRACT.md §3, Agent fields). The JSON names are those of the
// API. nil is absent: in an update it leaves the field as it is. The rule tag is read by validate; the messages of what
// it refuses name the field and the range.
type Settings struct {
	Name                    *string  `json:"name,omitempty" rule:"name"`
	Description             *string  `json:"description,omitempty" rule:"text 20000"`
	Status                  *string  `json:"status,omitempty" rule:"one active inactive draft"`
	Role                    *string  `json:"role,omitempty" rule:"text 128"`
	Modality                *string  `json:"modality,omitempty" rule:"one voice chat email"`
	Model                   *string  `json:"model,omitempty" rule:"text 128"`
	Language                *string  `json:"language,omitempty" rule:"language"`
	Languages               []string `json:"languages,omitempty" rule:"languages 20"`
	Timezone                *string  `json:"timezone,omitempty" rule:"zone"`
	VoiceID                 *string  `json:"voice_id,omitempty" rule:"text 128"`
	CompanyName             *string  `json:"company_name,omitempty" rule:"text 128"`
	EnableRecording         *bool    `json:"enable_recording,omitempty"`
	CompanyWebsite          *string  `json:"company_website,omitempty" rule:"url"`
	Prompt                  *string  `json:"prompt,omitempty" rule:"text 20000"`
	CustomPrompt            *string  `json:"custom_prompt,omitempty" rule:"text 20000"`
	Instruction             *string  `json:"instruction,omitempty" rule:"text 20000"`
	Objective               *string  `json:"objective,omitempty" rule:"text 20000"`
	WelcomeMsg              *string  `json:"welcome_msg,omitempty" rule:"text 20000"`
	SeedPhrase              *string  `json:"seed_phrase,omitempty" rule:"text 20000"`
	PostCallNotes           *string  `json:"post_call_notes,omitempty" rule:"text 20000"`
	ToneOfVoice             *string  `json:"tone_of_voice,omitempty" rule:"one Professional Friendly Casual Formal"`
	LenResp                 *string  `json:"len_resp,omitempty" rule:"one short medium long"`
	Creativity              *float64 `json:"creativity,omitempty" rule:"range 0 1"`
	SpeakingRate            *float64 `json:"speaking_rate,omitempty" rule:"range 0.5 2"`
	PatienceLevel           *string  `json:"patience_level,omitempty" rule:"one low medium high"`
	ReasoningEffort         *string  `json:"reasoning_effort,omitempty" rule:"one none low medium high"`
	RingDuration            *int     `json:"ring_duration,omitempty" rule:"range 0 120"`
	OutboundRingDuration    *int     `json:"outbound_ring_duration,omitempty" rule:"range 5 180"`
	SilenceTimeout          *int     `json:"silence_timeout,omitempty" rule:"range 5 600"`
	IdleReminder            *bool    `json:"idle_reminder,omitempty"`
	IdleReminderDuration    *int     `json:"idle_reminder_duration,omitempty" rule:"range 3 300"`
	IdleReminderMessage     *string  `json:"idle_reminder_message,omitempty" rule:"text 20000"`
	CallDuration            *int     `json:"call_duration,omitempty" rule:"range 1 240"`
	CallLimit               *int     `json:"call_limit,omitempty" rule:"range 0 1000000"`
	CallBack                *bool    `json:"call_back,omitempty"`
	CallTag                 *bool    `json:"call_tag,omitempty"`
	GreetingInterrupt       *bool    `json:"greeting_interrupt,omitempty"`
	CallScreeningMessage    *string  `json:"call_screening_message,omitempty" rule:"text 20000"`
	VoicemailBehavior       *string  `json:"voicemail_behavior,omitempty" rule:"one hang_up leave_message continue"`
	VoicemailMessage        *string  `json:"voicemail_message,omitempty" rule:"text 20000"`
	AddBackgroundNoise      *bool    `json:"add_background_noise,omitempty"`
	BackgroundNoiseLevel    *float64 `json:"background_noise_level,omitempty" rule:"range 0 1"`
	BackgroundNoiseType     *string  `json:"background_noise_type,omitempty" rule:"text 128"`
	NoiseCancellation       *bool    `json:"noise_cancellation,omitempty"`
	IsTranscriptEnabled     *bool    `json:"is_transcript_enabled,omitempty"`
	ExpressiveMode          *bool    `json:"expressive_mode,omitempty"`
	IsHIPAACompliant        *bool    `json:"is_hipaa_compliant,omitempty"`
	RetentionPeriod         *int     `json:"retention_period,omitempty" rule:"range 0 3650"`
	ContactAccess           *bool    `json:"contact_access,omitempty"`
	SelfLearning            *bool    `json:"self_learning,omitempty"`
	RecordingConsent        *bool    `json:"recording_consent,omitempty"`
	ConsentType             *string  `json:"consent_type,omitempty" rule:"one stay_on_line verbal"`
	ConsentPrompt           *string  `json:"consent_prompt,omitempty" rule:"text 20000"`
	WidgetTheme             *string  `json:"widget_theme,omitempty" rule:"text 128"`
	WidgetPosition          *string  `json:"widget_position,omitempty" rule:"text 128"`
	WidgetMode              *string  `json:"widget_mode,omitempty" rule:"text 128"`
	WidgetPrimaryColor      *string  `json:"widget_primary_color,omitempty" rule:"color"`
	WidgetHoverColor        *string  `json:"widget_hover_color,omitempty" rule:"color"`
	WidgetTextColor         *string  `json:"widget_text_color,omitempty" rule:"color"`
	WidgetHoverTextColor    *string  `json:"widget_hover_text_color,omitempty" rule:"color"`
	WidgetCTAText           *string  `json:"widget_cta_text,omitempty" rule:"text 128"`
	WidgetTriggerHeading    *string  `json:"widget_trigger_heading,omitempty" rule:"text 128"`
	WidgetTriggerButtonText *string  `json:"widget_trigger_button_text,omitempty" rule:"text 128"`
	WidgetWelcomeMessage    *string  `json:"widget_welcome_message,omitempty" rule:"text 20000"`
	WidgetStartCallText     *string  `json:"widget_start_call_text,omitempty" rule:"text 128"`
	WidgetEndCallText       *string  `json:"widget_end_call_text,omitempty" rule:"text 128"`
	WidgetHoverText         *string  `json:"widget_hover_text,omitempty" rule:"text 128"`
	WidgetConnectingText    *string  `json:"widget_connecting_text,omitempty" rule:"text 128"`
	WidgetActiveText        *string  `json:"widget_active_text,omitempty" rule:"text 128"`
	WidgetStopText          *string  `json:"widget_stop_text,omitempty" rule:"text 128"`
	WidgetTCEnabled         *bool    `json:"widget_tc_enabled,omitempty"`
	WidgetTCText            *string  `json:"widget_tc_text,omitempty" rule:"text 20000"`
	WidgetTCPrivacyURL      *string  `json:"widget_tc_privacy_url,omitempty" rule:"url"`
	Personality             *string  `json:"personality,omitempty" rule:"text 20000"`
	Goals                   []string `json:"goals,omitempty" rule:"texts 50"`
	Guardrails              []string `json:"guardrails,omitempty" rule:"texts 50"`
	// TransferNumbers are where the agent may hand a call to, by name.
	TransferNumbers map[string]string `json:"transfer_numbers,omitempty" rule:"numbers 20"`
}

// What an agent must be to hold a call.
const (
	StatusActive  = "active"
	ModalityVoice = "voice"
)

// SettingsOf reads the settings of an agent. Name, status, modality and language are always there.
func SettingsOf(a *ent.Agent) (Settings, error) {
	var s Settings
	if err := json.Unmarshal(a.Settings, &s); err != nil {
		return Settings{}, fmt.Errorf("read settings of agent %s: %w", a.ID, err)
	}
	s.Name, s.Status, s.Modality, s.Language = &a.Name, &a.Status, &a.Modality, &a.Language
	return s, nil
}

// document is what the settings column keeps: everything that has no column of its own.
func (s Settings) document() (json.RawMessage, error) {
	s.Name, s.Status, s.Modality, s.Language = nil, nil, nil, nil
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	return b, nil
}

// over lays the fields that s has over those of old.
func (s Settings) over(old Settings) Settings {
	from, to := reflect.ValueOf(s), reflect.ValueOf(&old).Elem()
	for i := range from.NumField() {
		if !from.Field(i).IsNil() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return old
}

// fields maps the API's name of a field to its place in Settings.
var fields = func() map[string]int {
	m := map[string]int{}
	t := reflect.TypeFor[Settings]()
	for i := range t.NumField() {
		m[fieldName(t.Field(i))] = i
	}
	return m
}()

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
