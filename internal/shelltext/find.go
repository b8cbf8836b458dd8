package shelltext

import "strings"

// findValue is what the word behind one of find's tests may be.
type findValue uint8

const (
	findAlone  findValue = iota + 1 // no word follows
	findText                        // a word that does not begin with a -
	findNumber                      // a number, with a sign and a unit perhaps
	findMode                        // the modes of -perm
)

// findTest knows the tests and options of find, and the actions that write and
// run nothing.
func findTest(name string) findValue {
	switch name {
	case "(", ")", "!", ",", "-a", "-o", "-not", "-and", "-or", "-true", "-false",
		"-print", "-print0", "-ls", "-prune", "-quit",
		"-depth", "-daystart", "-follow", "-mount", "-xdev", "-noleaf", "-warn", "-nowarn",
		"-empty", "-executable", "-readable", "-writable", "-nouser", "-nogroup":
		return findAlone
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype",
		"-lname", "-ilname", "-type", "-xtype", "-fstype", "-user", "-group",
		"-newer", "-anewer", "-cnewer", "-samefile":
		return findText
	case "-newermt", "-newerat", "-newerct", "-newermm", "-neweraa", "-newercc":
		return findText
	case "-size", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-used", "-links", "-inum", "-uid", "-gid",
		"-maxdepth", "-mindepth":
		return findNumber
	case "-perm":
		return findMode
	}
	return 0
}

// fits says whether the word may stand behind the test. None may be taken for
// a test or an action of its own, should another find read the words another
// way.
func (v findValue) fits(s string) bool {
	switch v {
	case findText:
		return s != "" && s[0] != '-' && !strings.ContainsAny(s[:1], "();!,")
	case findNumber:
		s = strings.TrimLeft(s, "+-")
		if s != "" && letter(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		return digits(s)
	case findMode:
		s = strings.TrimLeft(s, "-/+")
		return s != "" && strings.Trim(s, "0123456789ugoarwxXst=+-,") == "" && findTest("-"+s) == 0
	}
	return false
}

// find judges the expression of find: what it tests, and what it runs by -exec.
func (l *look) find(words []word, tail bool) {
	if tail {
		l.cannot("find with words that are not seen")
		return
	}
	for _, w := range words {
		if !w.settled() {
			l.cannot("find with a word that is not plain")
			return
		}
	}
	i := 1
	for i < len(words) && (words[i].text == "-H" || words[i].text == "-L" || words[i].text == "-P") {
		i++
	}
	for i < len(words) && words[i].text != "" && findTest(words[i].text) == 0 && words[i].text[0] != '-' {
		i++ // the places to begin at
	}
	for i < len(words) {
		l.steps++
		name := words[i].text
		i++
		if name == "-exec" {
			end, ok := l.findExec(words, i)
			if !ok {
				return
			}
			i = end
			continue
		}
		v := findTest(name)
		if v == 0 {
			l.cannot("find with an action or a test that is not known")
			return
		}
		if v == findAlone {
			continue
		}
		if i >= len(words) || !v.fits(words[i].text) {
			l.cannot("a test of find without its value")
			return
		}
		i++
	}
}

// findExec judges the command of an -exec that begins at i, and gives where the
// expression goes on.
func (l *look) findExec(words []word, i int) (next int, ok bool) {
	end := i
	for ; end < len(words); end++ {
		text := words[end].text
		if text == ";" {
			break
		}
		if text == "+" {
			// It ends the command only behind a {}; elsewhere finds differ.
			if end > i && words[end-1].text == "{}" {
				break
			}
			l.cannot("a + that may or may not end an -exec")
			return 0, false
		}
	}
	if end >= len(words) || end == i {
		l.cannot("an -exec without an end or a command")
		return 0, false
	}
	l.run(loosen(words[i:end], "{}"), behind{wrapped: true})
	return end + 1, !l.stopped()
}
