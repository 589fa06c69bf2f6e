package apiclient

// FrameKind is the first byte of each binary message on a connection into a service
// (/api/v1/reach). The content follows it.
type FrameKind byte

// Frames that the client sends.
const (
	// FrameInput is for the command's standard input, FrameEnd its end.
	FrameInput FrameKind = 'd'
	FrameEnd   FrameKind = 'e'
	// FrameWindow is a TerminalSize as JSON.
	FrameWindow FrameKind = 'w'
)

// Frames that the control plane sends.
const (
	// FrameOutput and FrameErrors are what the command writes.
	FrameOutput FrameKind = 'o'
	FrameErrors FrameKind = 'r'
	// FrameExit is the last one, a CommandExit as JSON.
	FrameExit FrameKind = 'x'
)

// MaxFrame bounds the content of a frame, in bytes.
const MaxFrame = 64 << 10

// TerminalSize is a terminal's size in characters.
type TerminalSize struct {
	Cols uint16 `json:"cols"`
	Rows uint16 `json:"rows"`
}

// CommandExit is how a command ended. Message is set if it could not be run.
type CommandExit struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}
