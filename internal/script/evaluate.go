package script

import (
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"runtime/metrics"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
	"github.com/go-sourcemap/sourcemap"
)

// evaluation is one interpreter with one script.
type evaluation struct {
	vm      *goja.Runtime
	request Request
	places  *sourcemap.Consumer
	out     output
	// parse, stringify and await are the interpreter's own, taken before the script could
	// replace them.
	parse, stringify, await goja.Callable
	logged                  int
	dropped                 int64
}

// output is how an evaluation speaks to who started it.
type output struct {
	// begin says that the script is compiled, and its time runs from now on.
	begin func()
	log   func(line string)
	// abort ends the process with a response, where the script cannot be stopped.
	abort func(Response)
}

// evaluateScript runs a request. It must be called in a confined process only.
func evaluateScript(r Request, out output) Response {
	code, places, problem := compileModule(r.Source)
	if problem != nil {
		return Response{Problem: problem}
	}
	e := &evaluation{vm: goja.New(), request: r, places: places, out: out}
	if err := e.prepare(); err != nil {
		return Response{Problem: &Problem{Kind: Crashed, Message: err.Error()}}
	}
	out.begin()
	stop := time.AfterFunc(r.Limit(), func() { e.vm.Interrupt(errTimedOut) })
	defer stop.Stop()
	go e.watchMemory()
	answer := e.run(code)
	answer.Dropped = e.dropped
	return answer
}

var (
	errTimedOut = errors.New("timed out")
	errMemory   = errors.New("out of memory")
)

// watchMemory stops the script before the kernel refuses memory: the runtime then ends the
// process, and nobody learns which line it was. What is allocated between two looks is the
// kernel's to limit.
func (e *evaluation) watchMemory() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for range time.Tick(10 * time.Millisecond) {
		if metrics.Read(live); live[0].Value.Uint64() > MemoryMiB<<20*3/4 {
			break
		}
	}
	e.vm.Interrupt(errMemory)
	// A function of the interpreter's own is not interrupted.
	time.Sleep(200 * time.Millisecond)
	e.out.abort(problemResponse(Memory, memorySentence))
}

// prepare sets the limits and keeps the functions that the result depends on.
func (e *evaluation) prepare() error {
	// The interpreter would look columns up that count from 1 in a map that counts from 0.
	e.vm.SetParserOptions(parser.WithDisableSourceMaps)
	e.vm.SetMaxCallStackSize(MaxCalls)
	e.vm.SetRandSource(e.seedRandom())
	if !e.request.Clock {
		e.vm.SetTimeSource(func() time.Time {
			panic(e.vm.NewTypeError("the script has no clock; let its step grant it: clock: true"))
		})
	}
	for code, to := range map[string]*goja.Callable{
		"JSON.parse":                     &e.parse,
		"JSON.stringify":                 &e.stringify,
		"(async (f, input) => f(input))": &e.await,
	} {
		v, err := e.vm.RunString(code)
		if err != nil {
			return err
		}
		*to, _ = goja.AssertFunction(v)
	}
	return e.vm.Set("require", func(call goja.FunctionCall) goja.Value {
		panic(e.vm.NewTypeError("a script cannot import other modules"))
	})
}

// seedRandom makes Math.random repeatable: the same step of the same run draws the same
// numbers.
func (e *evaluation) seedRandom() goja.RandSource {
	h := fnv.New64a()
	_, _ = h.Write([]byte(e.request.Input.Run.ID + "/" + e.request.Input.Run.Step))
	//nolint:gosec // Scripts have no source of secrets; this one is repeatable by design.
	return rand.New(rand.NewPCG(h.Sum64(), 0)).Float64
}

// run loads the script and calls the function that the action asks for.
func (e *evaluation) run(code string) Response {
	if _, err := e.vm.RunScript(sourceName, code); err != nil {
		return Response{Problem: e.explainErr(err)}
	}
	create, remove, problem := e.exports()
	if problem != nil {
		return Response{Problem: problem}
	}
	out := Response{Removes: remove != nil}
	switch {
	case e.request.Action == ActionCheck:
		return out
	case e.request.Action == ActionDelete && remove == nil:
		return out
	case e.request.Action == ActionDelete:
		_, out.Problem = e.call(remove)
		return out
	}
	v, problem := e.call(create)
	if problem == nil {
		out.Outputs, problem = e.readResult(v)
	}
	out.Problem = problem
	return out
}

// exports returns the functions of the module. A script that replaced the variable has no
// exports; it can only hurt itself.
func (e *evaluation) exports() (create, remove goja.Value, problem *Problem) {
	var wrong *Problem
	err := e.protect(func() {
		module, ok := e.vm.Get(exportsName).(*goja.Object)
		if !ok {
			wrong = &Problem{Kind: Contract, Message: "the script exports nothing; begin it with " +
				"export default ({parameters}) => { … }"}
			return
		}
		create, remove = module.Get("default"), module.Get("remove")
	})
	if err != nil {
		return nil, nil, e.explainErr(err)
	}
	if wrong != nil {
		return nil, nil, wrong
	}
	if _, ok := goja.AssertFunction(create); !ok {
		return nil, nil, &Problem{Kind: Contract, Message: "the script has no default function; " +
			"begin it with export default ({parameters}) => { … }"}
	}
	if remove == nil {
		return create, nil, nil
	}
	if _, ok := goja.AssertFunction(remove); !ok {
		return nil, nil, &Problem{Kind: Contract, Message: "the export remove is no function"}
	}
	return create, remove, nil
}

// protect runs code that may run the script's, such as a getter, and returns what it throws.
func (e *evaluation) protect(f func()) error {
	call, _ := goja.AssertFunction(e.vm.ToValue(func(goja.FunctionCall) goja.Value {
		f()
		return goja.Undefined()
	}))
	_, err := call(goja.Undefined())
	return err
}

// call calls a function of the script and waits for its promise, if it returns one. Nothing
// but the script itself can settle a promise, so one that is pending when no job is left
// never settles.
func (e *evaluation) call(f goja.Value) (goja.Value, *Problem) {
	input, err := e.newInput()
	if err != nil {
		return nil, e.explainErr(err)
	}
	v, err := e.await(goja.Undefined(), f, input)
	if err != nil {
		return nil, e.explainErr(err)
	}
	p, _ := v.Export().(*goja.Promise)
	switch p.State() {
	case goja.PromiseStateFulfilled:
		return p.Result(), nil
	case goja.PromiseStateRejected:
		return nil, e.explainThrown(p.Result())
	default:
		return nil, &Problem{Kind: Thrown, Message: "the script waits for a promise that nothing " +
			"settles; a script has no timers, no network and no events"}
	}
}
