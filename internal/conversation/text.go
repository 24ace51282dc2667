package conversation

import "strings"

// endSentence puts a full stop behind a text that ends like no sentence.
func endSentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || endsSentence(s) {
		return s
	}
	return s + "."
}

// endsSentence tells whether a text ends with a sentence's mark, in any of the usual scripts.
func endsSentence(s string) bool {
	s = strings.TrimRight(s, " \t\n\"'”’»)")
	for _, mark := range []string{".", "!", "?", "…", "。", "！", "？", "؟", "।"} {
		if strings.HasSuffix(s, mark) {
			return true
		}
	}
	return false
}
