package agentbuilder

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// machine is what texts call a program that talks.
const machine = `(?:a\.?i\.?|artificial intelligence|(?:large )?language models?|llms?|chat ?gpt|chat ?bots?|(?:voice|phone|virtual|a\.?i\.?|digital) (?:agents?|assistants?|bots?)|(?:this|the|any) (?:agent|assistant|bot|model)|crawlers?)`

// orders are signs that a sentence tells a program what to do, rather than a visitor what is so. They are made for
// precision: a sentence too few costs a fact, a sentence too many is caught by the walls behind this one.
var orders = []*regexp.Regexp{
	// away with what was said before
	regexp.MustCompile(`\b(?:ignore|disregard|forget|override|bypass|skip)\b.{0,60}\b(?:instructions?|prompts?|rules?|guardrails?|guidelines?|polic(?:y|ies)|everything|above|previous|prior|earlier)\b`),
	regexp.MustCompile(`\b(?:ignoriere?n?|vergiss|missachte)\b.{0,60}\b(?:anweisung\w*|regeln|vorgaben|prompt\w*|alles)\b`),
	regexp.MustCompile(`\b(?:ignorez|ignore|oubliez|oublie)\b.{0,60}\b(?:instructions?|consignes?|règles?)\b`),
	regexp.MustCompile(`\b(?:ignora|ignore|olvida|olvide|ignorar)\b.{0,60}\b(?:instrucciones|reglas|indicaciones|istruzioni|regole)\b`),
	// parts of a chat
	regexp.MustCompile(`\b(?:system|developer|hidden) (?:prompt|message|instructions?|note)\b`),
	regexp.MustCompile(`^\W*(?:system|assistant|developer|human|user)\s*:`),
	regexp.MustCompile(`<\|?/?(?:im_?start|im_?end|system|endoftext|inst)\b|\[/?inst\]|<<sys>>`),
	regexp.MustCompile(`\bprompt injection\b|\bjailbreak\b`),
	regexp.MustCompile(`\b(?:new|updated|additional|following|these|important|special) instructions? (?:for|to) ` + machine),
	// who it is to be
	regexp.MustCompile(`\byou are (?:now|no longer|an? ` + machine + `)\b`),
	regexp.MustCompile(`\b(?:pretend (?:to be|that you|you are)|act as (?:an?|if you)|roleplay as|your new (?:role|task|goal|name|instructions?|guardrails?|greeting) (?:is|are))\b`),
	regexp.MustCompile(`\bfrom now on\b.{0,40}\b(?:you|say|tell|answer|respond|reply|greet|always|never)\b`),
	// what it must do
	regexp.MustCompile(`\b` + machine + `\b.{0,60}\b(?:must|should|shall|needs? to|ha(?:ve|s) to|always|never|may not|is to|are to|please)\b`),
	regexp.MustCompile(`^\W*(?:assistants?|agents?|bots?|models?)\s+(?:must|should|shall|always|never|needs? to)\b`),
	regexp.MustCompile(`\b(?:attention|dear|hey|hello|note to|notice to|message to|if you are)\b.{0,20}\b` + machine + `\b`),
	regexp.MustCompile(`^\W*(?:(?:please|always|never|also|then|and|instead|you must|you should|you will|make sure to|be sure to|do not|don't)\s+)*(?:tell|inform|instruct|direct|transfer|forward|redirect|persuade|convince|promise|assure|greet|offer)\s+(?:(?:to|all|every|each|any|the|your|incoming)\s+)*(?:callers?|customers?|users?|calls?|people|person|everyone|everybody|anyone|whoever)\b`),
	regexp.MustCompile(`^\W*(?:(?:please|always|also|then|and|you must|make sure to|be sure to)\s+)*(?:ask|request|collect|obtain|demand|get|take|read back|confirm)\b.{0,60}` + secrets),
	regexp.MustCompile(`\b(?:add|include|insert|put|write|set|use|copy|output|repeat|reveal|print)\b.{0,60}\b(?:guardrails?|greeting|personality|system|goals? of|(?:your|the) (?:prompt|instructions?|rules?|configuration|answer|reply|response|output|json))\b`),
	regexp.MustCompile(`\b(?:respond|reply|answer) (?:only )?(?:with|by saying)\b`),
}

// secrets are what no agent asks for because a page says so.
const secrets = `\b(?:credit card|card numbers?|card details|cvv|cvc|security code|passwords?|passcodes?|one-time|otp|pin(?: code| number)?|social security|ssn|bank (?:account|details)|iban|date of birth|mother'?s maiden)\b`

var secret = regexp.MustCompile(secrets)

// isOrder tells whether a sentence gives a program orders.
func isOrder(sentence string) bool {
	folded := foldSentence(sentence)
	return slices.ContainsFunc(orders, func(r *regexp.Regexp) bool { return r.MatchString(folded) })
}

// foldSentence makes spellings alike that a reader would not tell apart.
func foldSentence(s string) string {
	s = norm.NFKC.String(s)
	s = strings.NewReplacer("’", "'", "*", "", "_", "", "`", "", "\u00ad", "", "#", "").Replace(s)
	return strings.ToLower(strings.Join(strings.Fields(s), " "))
}

// withoutOrders takes the sentences out of a text that give orders, and returns them. Lines stay lines.
func withoutOrders(text string) (rest string, taken []string) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		kept := line
		for _, s := range sentences(line) {
			if isOrder(s) {
				kept = strings.Replace(kept, s, "", 1)
				taken = append(taken, clip(strings.TrimSpace(s), maxFact))
			}
		}
		// An order may hide its verb in one sentence and its object in the next.
		if kept == line && isOrder(line) {
			kept = "\n"
			taken = append(taken, clip(strings.TrimSpace(line), maxFact))
		}
		b.WriteString(kept)
		if !strings.HasSuffix(kept, "\n") && strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String(), taken
}

// sentences cuts a line behind . ! ? and their relatives where a space follows, and at the bars of a table.
func sentences(line string) []string {
	var all []string
	start := 0
	runes := []rune(line)
	for i, r := range runes {
		end := strings.ContainsRune("|。！？\n", r) || strings.ContainsRune(".!?;", r) && (i+1 == len(runes) || unicode.IsSpace(runes[i+1]))
		if !end && i+1 < len(runes) {
			continue
		}
		if s := string(runes[start : i+1]); strings.TrimSpace(s) != "" {
			all = append(all, s)
		}
		start = i + 1
	}
	return all
}

// plain makes a text of a stranger fit to be kept: valid, without characters that nobody sees, without the braces of a
// template, in one form of Unicode.
func plain(s string) string {
	s = norm.NFC.String(strings.ToValidUTF8(s, " "))
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\u00a0' || r == '\u202f' || r == '\r':
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector):
			return -1
		}
		return r
	}, s)
	for _, braces := range []string{"{{", "}}"} {
		for strings.Contains(s, braces) {
			s = strings.ReplaceAll(s, braces, braces[:1])
		}
	}
	return s
}

// oneLine is plain for a text without line breaks, of at most so many code points.
func oneLine(s string, most int) string {
	return clip(strings.Join(strings.Fields(plain(s)), " "), most)
}

// words are a text's words, folded, without punctuation.
func words(s string) []string {
	return strings.FieldsFunc(foldSentence(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// runs are all sequences of n words.
func runs(s string, n int, into map[string]bool) {
	w := words(s)
	for i := 0; i+n <= len(w); i++ {
		into[strings.Join(w[i:i+n], " ")] = true
	}
}

// repeats tells whether a text has n words in a row that are among the runs.
func repeats(s string, n int, of map[string]bool) bool {
	w := words(s)
	for i := 0; i+n <= len(w); i++ {
		if of[strings.Join(w[i:i+n], " ")] {
			return true
		}
	}
	return false
}
