package pipeline

import "fmt"

const (
	// linesOfAttempt is how far apart the numbers of a step's attempts begin: a restarted agent does
	// not know how many lines the attempt before had.
	linesOfAttempt = 1 << 20
	// undoAttempts is how many attempts come before those of the undo.
	undoAttempts = 8
)

// LinePlace is where a line stands in the log of a step, as people count: from 1 in each attempt.
type LinePlace struct {
	// Undo says that the step's undo wrote it.
	Undo    bool
	Attempt int
	Line    int64
}

// PlaceOfLine reads the number that an agent gave a line.
func PlaceOfLine(number int64) LinePlace {
	block := max(number-1, 0) / linesOfAttempt
	p := LinePlace{Attempt: int(block) + 1, Line: number - block*linesOfAttempt}
	if block >= undoAttempts {
		p.Undo, p.Attempt = true, p.Attempt-undoAttempts
	}
	return p
}

// Number is the number that an agent gives a line.
func (p LinePlace) Number() int64 {
	block := p.Attempt - 1
	if p.Undo {
		block += undoAttempts
	}
	return int64(block)*linesOfAttempt + p.Line
}

func (p LinePlace) String() string {
	switch {
	case p.Undo && p.Attempt > 1:
		return fmt.Sprintf("undo, attempt %d, line %d", p.Attempt, p.Line)
	case p.Undo:
		return fmt.Sprintf("undo, line %d", p.Line)
	case p.Attempt > 1:
		return fmt.Sprintf("attempt %d, line %d", p.Attempt, p.Line)
	}
	return fmt.Sprintf("line %d", p.Line)
}
