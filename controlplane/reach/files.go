package reach

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"

	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/pipeline"
)

// File is one file of a service.
type File struct {
	Name string
	Size int64
	Mode fs.FileMode
	// Content ends with an error unless it is complete. Close it.
	Content io.ReadCloser
}

// ServiceFile is a file in a service.
type ServiceFile struct {
	Deployment controlplane.DeploymentID
	Step       pipeline.StepKey
	// Path is absolute and clean.
	Path string
}

// ReadFile opens one file of a service.
func (r *Reach) ReadFile(ctx context.Context, actor access.Actor, p ServiceFile) (File, error) {
	if err := checkPath(p.Path); err != nil {
		return File{}, err
	}
	v, err := r.copyOf(ctx, actor, p, "read file")
	if err != nil {
		return File{}, err
	}
	var about sidecar.File
	err = sidecar.NewFrameWriter(v).JSON(sidecar.FrameStart,
		sidecar.Start{Read: p.Path, Most: MaxFile})
	if err == nil {
		err = readAbout(v, &about)
	}
	if err != nil {
		return File{}, errors.Join(err, v.CloseWithReason("refused"))
	}
	return File{Name: about.Name, Size: about.Size, Mode: fs.FileMode(about.Mode).Perm(),
		Content: &content{visit: v}}, nil
}

// WriteFile writes one file, whole or not at all. name is what it is called when
// the path is a folder.
func (r *Reach) WriteFile(ctx context.Context, actor access.Actor, p ServiceFile, name string,
	mode fs.FileMode, from io.Reader) error {
	if err := checkPath(p.Path); err != nil {
		return err
	}
	v, err := r.copyOf(ctx, actor, p, "write file")
	if err != nil {
		return err
	}
	err = sendStream(v, sidecar.Start{Write: p.Path, Name: name, Mode: uint32(mode.Perm()),
		Most: MaxFile}, from)
	why := "done"
	if err != nil {
		why = "failed"
	}
	if noted := v.CloseWithReason(why); err == nil {
		return noted
	}
	return err
}

func checkPath(p string) error {
	if err := sidecar.CleanPath(p); err != nil {
		return copyRefusedError("path", err.Error())
	}
	return nil
}

func copyRefusedError(field, message string) error {
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "copy_refused", Field: field,
		Message: message}
}

// copyOf opens a connection for one file.
func (r *Reach) copyOf(
	ctx context.Context, actor access.Actor, p ServiceFile, what string,
) (*OpenConnection, error) {
	v, err := r.openVisit(ctx, actor, ConnectionRequest{Deployment: p.Deployment, Step: p.Step,
		Kind: controlplane.ReachTerminal}, what+" "+path.Base(p.Path))
	if err != nil {
		return nil, err
	}
	// Close the connection when the caller leaves, so that nothing keeps running.
	context.AfterFunc(ctx, func() { _ = v.Conn.Close() })
	return v, nil
}

// readAbout reads what the file is, or why it cannot be had.
func readAbout(v *OpenConnection, about *sidecar.File) error {
	f, err := sidecar.ReadFrame(v)
	switch {
	case err != nil:
		return connectionLostError(err)
	case f.Kind == sidecar.FrameFile && json.Unmarshal(f.Data, about) == nil:
		return nil
	case f.Kind == sidecar.FrameExit:
		return exitError(f)
	}
	return connectionLostError(sidecar.ErrFrame)
}

func connectionLostError(err error) error {
	return &controlplane.Error{Kind: controlplane.Unavailable, Code: "connection_lost",
		Message: "the service's node did not answer to the end", Remedy: "Try again.", Cause: err}
}

func exitError(f sidecar.Frame) error {
	var end sidecar.Exit
	if json.Unmarshal(f.Data, &end) != nil {
		return connectionLostError(sidecar.ErrFrame)
	}
	if end.Code == 0 {
		return nil
	}
	return copyRefusedError("path", end.Message)
}

func sendStream(v *OpenConnection, s sidecar.Start, from io.Reader) error {
	to := sidecar.NewFrameWriter(v)
	if err := to.JSON(sidecar.FrameStart, s); err != nil {
		return connectionLostError(err)
	}
	answer := make(chan error, 1)
	go func() { answer <- awaitExit(v) }()
	buffer := make([]byte, sidecar.MaxFrame)
	for total := int64(0); ; {
		n, err := from.Read(buffer)
		if total += int64(n); total > s.Most {
			return copyRefusedError("", sidecar.TooLargeMessage(s.Most).Error())
		}
		if n > 0 && to.Write(sidecar.FrameInput, buffer[:n]) != nil {
			// It was refused: the answer says why.
			return <-answer
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return copyRefusedError("", "the file did not arrive to its end")
		}
		select {
		case refusal := <-answer:
			return refusal
		default:
		}
	}
	if err := to.Write(sidecar.FrameEnd, nil); err != nil {
		return <-answer
	}
	return <-answer
}

func awaitExit(v *OpenConnection) error {
	for {
		f, err := sidecar.ReadFrame(v)
		if err != nil {
			return connectionLostError(err)
		}
		if f.Kind == sidecar.FrameExit {
			return exitError(f)
		}
	}
}

// content reads a file's frames.
type content struct {
	visit *OpenConnection
	rest  []byte
	end   error
}

func (c *content) Read(p []byte) (int, error) {
	for len(c.rest) == 0 && c.end == nil {
		f, err := sidecar.ReadFrame(c.visit)
		switch {
		case err != nil:
			c.end = connectionLostError(err)
		case f.Kind == sidecar.FrameOutput:
			c.rest = f.Data
		case f.Kind == sidecar.FrameExit:
			if c.end = exitError(f); c.end == nil {
				c.end = io.EOF
			}
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	if n == 0 {
		return 0, c.end
	}
	return n, nil
}

func (c *content) Close() error {
	why := "done"
	if !errors.Is(c.end, io.EOF) {
		why = "broken off"
	}
	return c.visit.CloseWithReason(why)
}
