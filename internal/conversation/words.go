package conversation

import (
	"regexp"
	"strings"
)

// screening is the rules' word for a call-screening service, which counts as ivr.
const screening = "screening"

// The words of machines, in lower case, of all languages at once: an announcement need not be in the agent's language.
// Another language is one more entry in each list.
var (
	screeningWords = []string{
		// en
		"state your name", "say your name", "record your name", "your name and why", "name and the reason", "name and reason",
		"reason for your call", "reason for calling", "why you're calling", "why you are calling", "purpose of your call", "tell us your name", "call filter", "screening service",
		"using a screening", "call assist", "call screen", "before i connect you", "person you're calling can see", "is screening",
		// de es fr it pt nl
		"nennen sie ihren namen", "sagen sie ihren namen", "grund ihres anrufs", "diga su nombre", "motivo de su llamada",
		"dites votre nom", "motif de votre appel", "dica il suo nome", "motivo della chiamata", "diga o seu nome",
		"motivo da sua ligação", "motivo da chamada", "spreek uw naam in", "reden van uw oproep",
	}
	// Certain even when the text may still grow.
	voicemailCertain = []string{
		"voicemail", "voice mail", "voice message", "mailbox", "answering machine", "after the tone", "after the beep", "at the tone",
		"at the beep", "hear the tone", "hear the beep", "wait for the beep", "wait for the tone", "when you have finished recording",
		"anrufbeantworter", "mobilbox", "nach dem signalton", "nach dem ton", "nach dem piep",
		"buzón de voz", "contestador", "después de la señal", "después del tono", "tras la señal",
		"après le bip", "après le signal", "messagerie vocale", "répondeur", "boîte vocale",
		"segreteria telefonica", "dopo il segnale", "dopo il bip", "correio de voz", "caixa postal", "após o sinal", "depois do sinal",
		"na de piep", "na de toon", "antwoordapparaat",
	}
	// A menu may offer these too ("to leave a message, press 1"), so the whole text is needed.
	voicemailWords = []string{
		"leave a message", "leave your message", "leave me a message", "leave us a message", "leave a short message", "leave a brief message",
		"leave your name", "leave a detailed message", "take your call", "answer your call", "answer the phone right now", "come to the phone",
		"get to the phone", "record your message", "get back to you", "call you back as soon", "return your call", "not available right now",
		"is not available", "is unavailable", "currently unavailable", "can not be reached", "cannot be reached", "could not be reached", "subscriber", "switched off",
		"turned off", "try again later", "try your call again", "not in service", "been disconnected", "not been set up", "not set up",
		"call has been forwarded", "no one is available", "nobody is available", "circuits are busy", "hang up and try", "please record your", "can't talk right now", "away from my desk", "away from the phone",
		"sorry i missed your call", "our office is closed", "our offices are closed", "outside of business hours",
		"hinterlassen sie", "nachricht hinterlassen", "zur zeit nicht erreichbar", "zurzeit nicht erreichbar", "rufe sie zurück", "rufen sie zurück",
		"deje su mensaje", "deja tu mensaje", "deje un mensaje", "no está disponible", "no puedo atender", "no puedo contestar",
		"laissez un message", "laissez votre message", "laissez-moi un message", "n'est pas disponible", "ne peux pas répondre", "vous rappelle",
		"lasciate un messaggio", "lascia un messaggio", "non è raggiungibile", "non posso rispondere",
		"deixe a sua mensagem", "deixe sua mensagem", "deixe uma mensagem", "não está disponível", "não posso atender",
		"laat een bericht achter", "spreek een bericht in", "niet bereikbaar",
	}
	menuWords = regexp.MustCompile(`\b(press|dial|enter|push|drücken sie|wählen sie|pulse|oprima|presione|marque|appuyez sur|tapez|premere|prema|premi|digiti|tecle|pressione|digite|toets|druk op|kies)\s+` +
		`(or\s+say\s+)?(the\s+|die\s+|el\s+|la\s+|le\s+|o\s+|il\s+|een\s+)?([0-9*#]|one|two|three|four|five|six|seven|eight|nine|zero|star|pound|eins|zwei|drei|vier|null|uno|dos|tres|cero|un|deux|trois|due|tre|um|dois|três|twee|drie)\b`)
	menuPhrases = []string{
		"star key", "pound key", "hash key", "lines are busy", "in the queue", "in line", "for english", "you have selected", "followed by the",
		"to speak with a representative", "to speak to a representative", "to reach an operator", "for customer service", "for technical support",
		"our business hours are", "our opening hours are", "remain on the line",
		"main menu", "following options", "following menu", "our menu", "menu options", "options have changed", "your party's extension",
		"extension at any time", "dial by name", "listen carefully", "para español", "call may be recorded", "call may be monitored",
		"calls may be recorded", "calls are recorded", "call is being recorded", "your call is important", "next available agent",
		"next available representative", "all of our agents", "all of our representatives", "how may i direct your call", "say something like",
		"in a few words", "hauptmenü", "folgende auswahl", "gespräch wird aufgezeichnet", "nächste freie mitarbeiter",
		"menú principal", "siguientes opciones", "llamada puede ser grabada", "menu principal", "options suivantes", "appel peut être enregistré",
		"seguenti opzioni", "menù principale", "chiamata potrebbe essere registrata", "seguintes opções", "chamada poderá ser gravada",
		"hoofdmenu", "volgende opties", "gesprek kan worden opgenomen",
	}
	// humanWords are a person's, who may well say that somebody else is not available.
	humanWords = []string{
		"can i take a message", "would you like", "do you want to leave", "who is calling", "who's calling", "who is this", "can i help",
		"may i help", "can i ask", "may i ask", "kann ich etwas ausrichten", "wer ist da", "wer spricht", "quién habla", "qui est à l'appareil",
		"chi parla", "quem fala", "met wie spreek",
	}
	holdWords = []string{
		"please hold", "stay on the line", "hold the line", "please wait", "one moment", "connecting you", "trying to connect", "transferring you",
		"bitte warten", "bleiben sie dran", "bitte bleiben sie", "no cuelgue", "un momento", "espere por favor", "ne quittez pas", "veuillez patienter",
		"attenda in linea", "resti in linea", "aguarde", "blijf aan de lijn", "een ogenblik",
	}
	// toneWords promise a tone: it is worth waiting for.
	toneWords = []string{
		"the tone", "the beep", "a beep", "signalton", "dem ton", "piep", "la señal", "el tono", "le bip", "le signal", "il segnale", "il bip",
		"o sinal", "de toon",
	}
)

// classify tells a machine by its words: voicemail, ivr, screening or "". partial texts may still grow.
func classify(text string, partial bool) string {
	text = plain(text)
	switch {
	case text == "":
		return ""
	case containsAny(text, screeningWords):
		return screening
	case containsAny(text, voicemailCertain):
		return AnsweredByVoicemail
	case menuWords.MatchString(text) || containsAny(text, menuPhrases):
		return AnsweredByIVR
	case !partial && containsAny(text, voicemailWords) && !containsAny(text, humanWords):
		return AnsweredByVoicemail
	}
	return ""
}

// holdOn tells a request to wait, which wants no answer.
func holdOn(text string) bool { return containsAny(plain(text), holdWords) }

// promisesTone tells that an announcement ends with a tone.
func promisesTone(text string) bool { return containsAny(plain(text), toneWords) }

// plain is the form that the lists are in: lower case, one kind of apostrophe, single spaces, no commas.
func plain(text string) string {
	text = strings.NewReplacer("’", "'", ",", " ").Replace(strings.ToLower(text))
	return strings.Join(strings.Fields(text), " ")
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// wordless tells a listener's stand-in for speech that it could not write down: "(speech)".
func wordless(text string) bool {
	return text == "" || strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")")
}
