package agentbuilder

import (
	"strings"

	"golang.org/x/text/language"
)

// phrases are what the agent says by code, by language. %s is the company.
var phrases = map[string]struct{ greeting, opening string }{
	"en": {"Hello, thank you for calling %s. How can I help you?", "Thank you for calling %s."},
	"de": {"Guten Tag, vielen Dank für Ihren Anruf bei %s. Wie kann ich Ihnen helfen?", "Vielen Dank für Ihren Anruf bei %s."},
	"fr": {"Bonjour, merci d'appeler %s. Comment puis-je vous aider ?", "Merci d'appeler %s."},
	"es": {"Hola, gracias por llamar a %s. ¿En qué puedo ayudarle?", "Gracias por llamar a %s."},
	"it": {"Buongiorno, grazie per aver chiamato %s. Come posso aiutarla?", "Grazie per aver chiamato %s."},
	"pt": {"Olá, obrigado por ligar para %s. Como posso ajudar?", "Obrigado por ligar para %s."},
	"nl": {"Goedendag, bedankt voor het bellen met %s. Waarmee kan ik u helpen?", "Bedankt voor het bellen met %s."},
}

func phrase(lang string) (greeting, opening string) {
	base, _ := language.Make(lang).Base()
	p, ok := phrases[base.String()]
	if !ok {
		p = phrases["en"]
	}
	return p.greeting, p.opening
}

// usualWords tell languages apart by the words that every sentence has.
var usualWords = map[string]string{
	"en": " the and of to for with you your our is are we at on ",
	"de": " der die das und ist für mit wir sie ihr unser von auf nicht zu ",
	"fr": " le la les et des pour avec nous vous notre est une sur du ",
	"es": " el los las y para con nosotros usted nuestro es una del por ",
	"it": " il gli di e per con noi voi nostro una del della sono ",
	"pt": " o os as e para com nós você nosso uma do da não ",
	"nl": " de het een en van voor met wij u onze is niet op ",
}

// guessLanguage is en unless a text of some length clearly is of another.
func guessLanguage(text string) string {
	hits := map[string]int{}
	for _, w := range words(clip(text, 5000)) {
		for lang, usual := range usualWords {
			if strings.Contains(usual, " "+w+" ") {
				hits[lang]++
			}
		}
	}
	best := "en"
	for _, lang := range []string{"de", "fr", "es", "it", "pt", "nl"} {
		if hits[lang] > hits[best]+2 {
			best = lang
		}
	}
	return best
}

// languageOf is the one that the site names, else the one that it or the instructions are written in.
func languageOf(site *Site, instructions string) string {
	if site == nil {
		return guessLanguage(instructions)
	}
	if site.Facts.Language != "" {
		return site.Facts.Language
	}
	var b strings.Builder
	for _, p := range site.Pages {
		b.WriteString(p.Markdown)
	}
	return guessLanguage(b.String())
}
