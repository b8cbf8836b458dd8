package pathtext

import "countersign/internal/verdict"

// JudgeSlowly judges without the short way for plain texts.
func (j *Judge) JudgeSlowly(text string) (verdict.Result, string) { return j.judge(text) }

var (
	FoldPath  = foldPath
	Invisible = invisible
	Character = character
	Escapes   = escapes
	FewRoots  = fewRoots
)

// Follow follows one path on a disk, as a judgement does.
func Follow(d Disk, path string) (place, why string) {
	f := &follower{disk: d, seen: map[string]Entry{}}
	return f.follow(path)
}
