package conversation

import (
	"strings"

	"golang.org/x/text/language"
)

// phrases are the lines that nobody wrote, in one language. %s of introduction and about are filled in.
type phrases struct {
	warning, apology, repeat, reminder, goodbye, shutdown string
	// Who calls: the agent's name, the company, what it is about.
	hello, assistant, from, about string
	// notice and question ask for consent to a recording; agreed and refused begin the answers to the question.
	notice, question string
	agreed, refused  []string
}

// spoken is the table of the lines, by language without region.
var spoken = map[string]phrases{
	"en": {
		warning:   "I am sorry, our time on this call is nearly over. We have about thirty seconds left.",
		apology:   "I am sorry, I am having technical difficulties. Please try again later. Goodbye.",
		repeat:    "I am sorry, I did not catch that. Could you say it again?",
		reminder:  "Are you still there?",
		goodbye:   "Goodbye.",
		shutdown:  "I am sorry, I have to end this call now. Please try again later. Goodbye.",
		hello:     "Hello, this is ",
		assistant: "an automated assistant",
		from:      " from ",
		about:     ". I am calling about the following: ",
		notice:    "This call is recorded. If you do not agree, please hang up now.",
		question:  "May this call be recorded? Please say yes or no.",
		agreed:    []string{"yes", "yeah", "yep", "yup", "sure", "okay", "ok", "of course", "fine", "go ahead", "no problem", "i agree", "i do", "certainly", "absolutely", "that's all right", "no objection", "i don't mind"},
		refused:   []string{"no", "nope", "nah", "not", "don't", "do not", "rather not", "refuse", "never"},
	},
	"de": {
		warning:   "Es tut mir leid, unsere Zeit für dieses Gespräch ist fast um. Wir haben noch etwa dreißig Sekunden.",
		apology:   "Es tut mir leid, ich habe gerade technische Schwierigkeiten. Bitte versuchen Sie es später noch einmal. Auf Wiederhören.",
		repeat:    "Entschuldigung, das habe ich nicht verstanden. Können Sie es bitte wiederholen?",
		reminder:  "Sind Sie noch da?",
		goodbye:   "Auf Wiederhören.",
		shutdown:  "Es tut mir leid, ich muss das Gespräch jetzt beenden. Bitte versuchen Sie es später noch einmal. Auf Wiederhören.",
		hello:     "Guten Tag, hier ist ",
		assistant: "ein automatischer Assistent",
		from:      " von ",
		about:     ". Es geht um Folgendes: ",
		notice:    "Dieses Gespräch wird aufgezeichnet. Wenn Sie nicht einverstanden sind, legen Sie bitte jetzt auf.",
		question:  "Darf dieses Gespräch aufgezeichnet werden? Bitte sagen Sie ja oder nein.",
		agreed:    []string{"ja", "jo", "klar", "gerne", "gern", "okay", "ok", "in ordnung", "einverstanden", "natürlich", "selbstverständlich", "kein problem", "von mir aus"},
		refused:   []string{"nein", "nee", "nö", "nicht", "ungern", "auf keinen fall", "lieber nicht"},
	},
	"es": {
		warning:   "Lo siento, nuestro tiempo en esta llamada casi ha terminado. Nos quedan unos treinta segundos.",
		apology:   "Lo siento, tengo dificultades técnicas. Por favor, inténtelo más tarde. Adiós.",
		repeat:    "Perdone, no le he entendido. ¿Puede repetirlo, por favor?",
		reminder:  "¿Sigue ahí?",
		goodbye:   "Adiós.",
		shutdown:  "Lo siento, tengo que terminar esta llamada ahora. Por favor, inténtelo más tarde. Adiós.",
		hello:     "Hola, le habla ",
		assistant: "un asistente automático",
		from:      " de ",
		about:     ". Le llamo por lo siguiente: ",
		notice:    "Esta llamada se graba. Si no está de acuerdo, cuelgue ahora, por favor.",
		question:  "¿Podemos grabar esta llamada? Por favor, diga sí o no.",
		agreed:    []string{"sí", "si", "claro", "vale", "de acuerdo", "por supuesto", "adelante", "está bien", "sin problema", "okay", "ok"},
		refused:   []string{"no", "nunca", "prefiero que no", "mejor no"},
	},
	"fr": {
		warning:   "Je suis désolé, le temps de cet appel est presque écoulé. Il nous reste environ trente secondes.",
		apology:   "Je suis désolé, je rencontre des difficultés techniques. Veuillez réessayer plus tard. Au revoir.",
		repeat:    "Excusez-moi, je n'ai pas compris. Pouvez-vous répéter, s'il vous plaît ?",
		reminder:  "Êtes-vous toujours là ?",
		goodbye:   "Au revoir.",
		shutdown:  "Je suis désolé, je dois terminer cet appel maintenant. Veuillez réessayer plus tard. Au revoir.",
		hello:     "Bonjour, ici ",
		assistant: "un assistant automatique",
		from:      " de ",
		about:     ". Je vous appelle au sujet de ceci : ",
		notice:    "Cet appel est enregistré. Si vous n'êtes pas d'accord, veuillez raccrocher maintenant.",
		question:  "Acceptez-vous que cet appel soit enregistré ? Dites oui ou non, s'il vous plaît.",
		agreed:    []string{"oui", "ouais", "d'accord", "bien sûr", "pas de problème", "aucun problème", "allez-y", "j'accepte", "volontiers", "okay", "ok"},
		refused:   []string{"non", "pas", "refuse", "jamais", "plutôt pas"},
	},
	"it": {
		warning:   "Mi dispiace, il tempo di questa chiamata è quasi finito. Ci restano circa trenta secondi.",
		apology:   "Mi dispiace, ho delle difficoltà tecniche. La prego di riprovare più tardi. Arrivederci.",
		repeat:    "Mi scusi, non ho capito. Può ripetere, per favore?",
		reminder:  "È ancora in linea?",
		goodbye:   "Arrivederci.",
		shutdown:  "Mi dispiace, ora devo terminare la chiamata. La prego di riprovare più tardi. Arrivederci.",
		hello:     "Buongiorno, sono ",
		assistant: "un assistente automatico",
		from:      " di ",
		about:     ". La chiamo per il seguente motivo: ",
		notice:    "Questa chiamata viene registrata. Se non è d'accordo, la prego di riagganciare ora.",
		question:  "Possiamo registrare questa chiamata? Dica sì o no, per favore.",
		agreed:    []string{"sì", "si", "certo", "va bene", "d'accordo", "nessun problema", "certamente", "prego", "okay", "ok"},
		refused:   []string{"no", "non", "mai", "preferisco di no", "meglio di no"},
	},
	"pt": {
		warning:   "Lamento, o tempo desta chamada está quase a terminar. Temos cerca de trinta segundos.",
		apology:   "Lamento, estou com dificuldades técnicas. Por favor, tente mais tarde. Adeus.",
		repeat:    "Desculpe, não percebi. Pode repetir, por favor?",
		reminder:  "Ainda está aí?",
		goodbye:   "Adeus.",
		shutdown:  "Lamento, tenho de terminar esta chamada agora. Por favor, tente mais tarde. Adeus.",
		hello:     "Olá, aqui fala ",
		assistant: "um assistente automático",
		from:      " de ",
		about:     ". Estou a ligar sobre o seguinte: ",
		notice:    "Esta chamada é gravada. Se não concorda, por favor desligue agora.",
		question:  "Podemos gravar esta chamada? Por favor, diga sim ou não.",
		agreed:    []string{"sim", "claro", "pode", "tudo bem", "está bem", "com certeza", "sem problema", "concordo", "okay", "ok"},
		refused:   []string{"não", "nao", "nunca", "prefiro que não", "melhor não"},
	},
	"nl": {
		warning:   "Het spijt me, onze tijd voor dit gesprek is bijna om. We hebben nog ongeveer dertig seconden.",
		apology:   "Het spijt me, ik heb technische problemen. Probeert u het later nog eens. Tot ziens.",
		repeat:    "Sorry, dat heb ik niet verstaan. Kunt u het herhalen?",
		reminder:  "Bent u er nog?",
		goodbye:   "Tot ziens.",
		shutdown:  "Het spijt me, ik moet dit gesprek nu beëindigen. Probeert u het later nog eens. Tot ziens.",
		hello:     "Goedendag, u spreekt met ",
		assistant: "een automatische assistent",
		from:      " van ",
		about:     ". Ik bel over het volgende: ",
		notice:    "Dit gesprek wordt opgenomen. Als u het daar niet mee eens bent, hang dan nu op.",
		question:  "Mag dit gesprek worden opgenomen? Zeg alstublieft ja of nee.",
		agreed:    []string{"ja", "jazeker", "prima", "goed", "oké", "okay", "ok", "natuurlijk", "akkoord", "geen probleem", "dat mag"},
		refused:   []string{"nee", "niet", "liever niet", "geen sprake van", "nooit"},
	},
}

// phrasesIn are the lines in the language of a BCP 47 tag, English where there are none.
func phrasesIn(tag string) phrases {
	t, err := language.Parse(tag)
	if err != nil {
		return spoken["en"]
	}
	base, _ := t.Base()
	if p, ok := spoken[base.String()]; ok {
		return p
	}
	return spoken["en"]
}

// consent reads the answer to the question whether the call may be recorded. An answer that holds both, or neither, is
// unclear; in doubt nothing is recorded.
func (p phrases) consent(text string) (given, clear bool) {
	plain := " " + strings.Join(plainWords(text), " ") + " "
	has := func(words []string) (found bool, rest string) {
		rest = plain
		for _, w := range words {
			if phrase := " " + strings.Join(plainWords(w), " ") + " "; strings.Contains(rest, phrase) {
				found, rest = true, strings.ReplaceAll(rest, phrase, " ")
			}
		}
		return found, rest
	}
	yes, rest := has(p.agreed) // "no problem" agrees: what agrees is taken out before looking for a refusal
	no := false
	for _, w := range p.refused {
		no = no || strings.Contains(rest, " "+strings.Join(plainWords(w), " ")+" ")
	}
	return yes && !no, yes != no
}
