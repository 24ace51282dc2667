package conversation

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const sentenceMarks = ".!?…。！？؟।"

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
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, " \t\n\"'”’»)"))
	return strings.ContainsRune(sentenceMarks, last)
}

// maxSentence bounds what is spoken in one piece, in bytes: the first sound must not wait for a page.
const maxSentence = 280

// sentences cuts a text into what is spoken piece by piece. Marks inside numbers and names (3.5, example.com) do not
// cut, since a space has to follow; marks of scripts without spaces always do.
func sentences(text string) (all []string) {
	text = strings.Join(strings.Fields(text), " ")
	start, space := 0, 0
	cut := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" {
			all = append(all, s)
		}
		start, space = end, end
	}
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		switch {
		case strings.ContainsRune("。！？।", r):
			cut(end)
		case strings.ContainsRune(sentenceMarks, r) && end < len(text) && text[end] == ' ' && end-start > 20:
			cut(end)
		case r == ' ':
			if end-start > maxSentence && space > start {
				cut(space)
			}
			space = end
		}
	}
	cut(len(text))
	return all
}

// Cutter cuts a text that is being written into what is spoken piece by piece: sentences, and first of all a clause, so
// that there is something to hear soon. Its texts are plain: what would be markup on a page is left out.
type Cutter struct {
	text   string
	spoken bool
}

// firstClause is how short the first piece may be, in bytes: a word alone would sound cut off.
const firstClause = 24

// Push takes the next piece of the text and returns what is complete by it.
func (c *Cutter) Push(piece string) (all []string) {
	c.text += piece
	for {
		end := c.end()
		if end == 0 {
			return all
		}
		if s := unmarked(c.text[:end]); s != "" {
			all = append(all, s)
			c.spoken = true
		}
		c.text = c.text[end:]
	}
}

// Rest is what is left at the text's end.
func (c *Cutter) Rest() []string {
	all := sentences(unmarked(c.text))
	c.text = ""
	return all
}

// end is where the first complete piece ends, 0 for none. A mark counts when a space follows: 3.5 goes on.
func (c *Cutter) end() int {
	start := len(c.text) - len(strings.TrimLeft(c.text, " \n"))
	space := 0
	for i, r := range c.text[start:] {
		i += start
		end := i + utf8.RuneLen(r)
		follows := end < len(c.text) && (c.text[end] == ' ' || c.text[end] == '\n')
		switch {
		case strings.ContainsRune("。！？।", r), r == '\n' && i > start:
			return end
		case follows && strings.ContainsRune(sentenceMarks, r) && (end-start > 20 || !c.spoken && end-start >= 5):
			return end
		case follows && !c.spoken && strings.ContainsRune(",;:–—", r) && end-start >= firstClause:
			return end
		case r == ' ':
			if end-start > maxSentence && space > start {
				return space
			}
			space = end
		}
	}
	return 0
}

// unmarked leaves out what is only for the eye.
func unmarked(text string) string {
	text = strings.NewReplacer("**", "", "__", "", "`", "").Replace(text)
	return strings.Join(strings.Fields(strings.TrimLeft(text, "#*- \n")), " ")
}

// backchannels are what people say to show that they listen.
var backchannels = map[string]bool{
	"mhm": true, "mm": true, "hm": true, "hmm": true, "uh": true, "huh": true, "aha": true, "ah": true, "oh": true,
	"yeah": true, "yes": true, "yep": true, "ok": true, "okay": true, "right": true, "sure": true, "ja": true,
	"genau": true, "si": true, "sí": true, "claro": true, "oui": true, "vale": true,
}

// backchannel tells whether a text is at most two such words.
func backchannel(text string) bool {
	words := plainWords(text)
	if len(words) == 0 || len(words) > 2 {
		return false
	}
	for _, w := range words {
		if !backchannels[w] {
			return false
		}
	}
	return true
}

// plainWords are the words in lower case without marks.
func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
}

// wordsIn is the part of a text that is heard after d of total, in whole words.
func wordsIn(text string, d, total time.Duration) string {
	words := strings.Fields(text)
	if d >= total {
		return strings.Join(words, " ")
	}
	return strings.Join(words[:int(int64(len(words))*int64(d)/int64(total))], " ")
}
