package script

import "github.com/nullops/nullops/internal/script/call"

// What a call is made of; see package call.
type (
	Request    = call.Request
	Input      = call.Input
	Service    = call.Service
	Deployment = call.Deployment
	Run        = call.Run
	Response   = call.Response
	Kind       = call.Kind
	Problem    = call.Problem
)

// The actions, limits and kinds of problems of a call.
const (
	ActionCheck    = call.ActionCheck
	ActionCreate   = call.ActionCreate
	ActionDelete   = call.ActionDelete
	MaxSource      = call.MaxSource
	DefaultTimeout = call.DefaultTimeout
	MaxTimeout     = call.MaxTimeout
	CheckTimeout   = call.CheckTimeout
	MemoryMiB      = call.MemoryMiB
	MaxCalls       = call.MaxCalls
	MaxLine        = call.MaxLine
	MaxLog         = call.MaxLog
	Syntax         = call.Syntax
	Contract       = call.Contract
	Thrown         = call.Thrown
	Outputs        = call.Outputs
	TimedOut       = call.TimedOut
	Memory         = call.Memory
	Recursion      = call.Recursion
	Crashed        = call.Crashed
)

// Why a script was not run.
var (
	// ErrConfine says that no script runs on this machine.
	ErrConfine = call.ErrConfine
	// ErrBusy says that the machine did not get round to the script.
	ErrBusy = call.ErrBusy
)

const (
	// maxOutputs bounds the encoded outputs, maxDepth their nesting.
	maxOutputs = 256 << 10
	maxDepth   = 64
	maxMessage = 1000
)

// frame is one line of the confined process's stdout.
type frame struct {
	// Begun says that the script's own time begins.
	Begun    bool      `json:"begun,omitempty"`
	Log      *string   `json:"log,omitempty"`
	Response *Response `json:"response,omitempty"`
}
