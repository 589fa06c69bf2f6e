package script

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/internal/text"
)

var proxyType = reflect.TypeFor[goja.Proxy]()

// explainErr turns an error of the interpreter into one sentence.
func (e *evaluation) explainErr(err error) *Problem {
	if stopped, ok := errors.AsType[*goja.InterruptedError](err); ok {
		p := &Problem{Kind: TimedOut, Message: timeoutSentence(e.request)}
		if stopped.Value() == errMemory {
			p.Kind, p.Message = Memory, memorySentence
		}
		p.Line, p.Column = e.positionIn(stopped.String())
		return p
	}
	if deep, ok := errors.AsType[*goja.StackOverflowError](err); ok {
		p := &Problem{Kind: Recursion, Message: recursionSentence}
		p.Line, p.Column = e.positionIn(deep.String())
		return p
	}
	thrown, ok := errors.AsType[*goja.Exception](err)
	if !ok {
		p := &Problem{Kind: Thrown, Message: text.Clip(err.Error(), maxMessage)}
		p.Line, p.Column = e.positionIn(err.Error())
		return p
	}
	p := e.explainThrown(thrown.Value())
	for _, at := range thrown.Stack() {
		place := at.Position()
		line, column := e.placeOf(place.Line, place.Column)
		if place.Filename == sourceName && line > 0 {
			p.Line, p.Column = line, column
			break
		}
	}
	return p
}

const recursionSentence = "the script's functions call each other too deeply; use a loop"

var memorySentence = "the script used more than " + quantity.FormatLimit(MemoryMiB) +
	" of memory and was stopped"

func timeoutSentence(r Request) string {
	return fmt.Sprintf("the script did not end within %s and was stopped",
		quantity.FormatDuration(r.Limit()))
}

// explainThrown describes what a script threw, which may be anything. Reading it can run code
// of the script again, which can throw again.
func (e *evaluation) explainThrown(v goja.Value) *Problem {
	p := &Problem{Kind: Thrown}
	stack := ""
	err := e.protect(func() { p.Message, stack = describeThrown(v) })
	if _, stopped := errors.AsType[*goja.InterruptedError](err); stopped {
		return e.explainErr(err)
	}
	if err != nil || p.Message == "" {
		p.Message = "the script threw an object that says nothing; throw new Error(\"why\")"
	}
	p.Message = text.Clip(p.Message, maxMessage)
	p.Line, p.Column = e.positionIn(stack)
	return p
}

func describeThrown(v goja.Value) (message, stack string) {
	o, ok := v.(*goja.Object)
	if !ok {
		if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
			return "", ""
		}
		if _, symbol := v.(*goja.Symbol); symbol {
			return "", ""
		}
		return oneLine(v.String()), ""
	}
	if o.ClassName() != "Error" || o.ExportType() == proxyType {
		return "", ""
	}
	name, text := textOf(o.Get("name")), textOf(o.Get("message"))
	stack = textOf(o.Get("stack"))
	switch {
	case name == "" || name == "Error":
		return oneLine(text), stack
	case text == "":
		return oneLine(name), stack
	}
	return oneLine(name + ": " + text), stack
}

// textOf is the text of a value that is one, without running code of the script.
func textOf(v goja.Value) string {
	if v == nil {
		return ""
	}
	if _, object := v.(*goja.Object); object {
		return ""
	}
	text, _ := v.Export().(string)
	return text
}

// oneLine keeps a message one sentence.
func oneLine(s string) string {
	return strings.Join(strings.Fields(text.Clip(s, 4*maxMessage)), " ")
}

// thrownAt finds a place of the compiled script in the text of a stack.
var thrownAt = regexp.MustCompile(`\b` + sourceName + `:(\d+):(\d+)\b`)

// positionIn returns the first place of the script in a stack, or zeros.
func (e *evaluation) positionIn(stack string) (line, column int) {
	for _, found := range thrownAt.FindAllStringSubmatch(text.Clip(stack, 64<<10), 100) {
		line, _ = strconv.Atoi(found[1])
		column, _ = strconv.Atoi(found[2])
		if line, column = e.placeOf(line, column); line > 0 {
			return line, column
		}
	}
	return 0, 0
}

// placeOf finds the place in the source that a place of the compiled script stands for, or
// zeros if it is code of the compiler's. Both count from 1.
func (e *evaluation) placeOf(line, column int) (int, int) {
	if e.places == nil {
		return 0, 0
	}
	name, _, line, column, ok := e.places.Source(line, column-1)
	if !ok || name != sourceName {
		return 0, 0
	}
	return line, column + 1
}
