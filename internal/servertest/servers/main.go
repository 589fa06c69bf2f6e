// Command servers runs one server that a test needs until its stdin ends. It prints where
// the server answers, and an address at which the test looks into it and changes it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// server is one that was started: what the test has to know, and its control.
type server struct {
	ready   any
	control http.Handler
}

func main() {
	if err := runServer(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

func runServer() error {
	kinds := map[string]func(options []byte) (server, error){
		"s3": startS3, "oidc": startOIDC, "names": startNames, "authority": startAuthority}
	if len(os.Args) != 3 || kinds[os.Args[1]] == nil {
		return errors.New("give one of s3, oidc, names and authority, and options in JSON")
	}
	s, err := kinds[os.Args[1]]([]byte(os.Args[2]))
	if err != nil {
		return fmt.Errorf("start %s: %w", os.Args[1], err)
	}
	control, err := serveHandler("127.0.0.1", s.control)
	if err != nil {
		return err
	}
	said := map[string]any{"Control": "http://" + control, "Ready": s.ready}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		return fmt.Errorf("say where the server is: %w", err)
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// serveHandler answers with the handler at a free port of the host, and returns host:port.
func serveHandler(host string, h http.Handler) (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	return l.Addr().String(), nil
}

// writeAnswer writes a value as JSON, or the error.
func writeAnswer(w http.ResponseWriter, value any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(value)
}
