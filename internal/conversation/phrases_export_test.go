package conversation

// ConsentIn reads an answer to the question of consent: given, refused or, when it is unclear, empty.
func ConsentIn(language, text string) string {
	given, clear := phrasesIn(language).consent(text)
	switch {
	case !clear:
		return ""
	case given:
		return ConsentGiven
	}
	return ConsentRefused
}

// Phrases are the lines of all languages.
func Phrases() map[string][]string {
	all := map[string][]string{}
	for lang, p := range spoken {
		all[lang] = []string{p.warning, p.apology, p.repeat, p.reminder, p.goodbye, p.shutdown, p.hello, p.assistant, p.notice, p.question}
	}
	return all
}

// Cut is what a Cutter makes of the pieces of a text.
func CutAll(pieces ...string) (all []string) {
	var c Cutter
	for _, p := range pieces {
		all = append(all, c.Push(p)...)
	}
	return append(all, c.Rest()...)
}
