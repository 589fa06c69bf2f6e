package gitfetch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// host is a repository that answered.
type host struct {
	repository Repository
	// filters is set if it can leave out the contents of files.
	filters bool
}

// maxGreeting bounds the answers that are text.
const maxGreeting = 1 << 20

// contactHost asks the host which protocol it speaks.
func (r Repository) contactHost(ctx context.Context) (host, error) {
	body, err := r.sendRequest(ctx, http.MethodGet, "/info/refs?service=git-upload-pack", nil)
	if err != nil {
		return host{}, err
	}
	defer func() { _ = body.Close() }()
	lines, err := readLines(body)
	if err != nil {
		return host{}, err
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "# service=") })
	if len(lines) == 0 || lines[0] != "version 2" {
		return host{}, &Error{Code: "protocol_old",
			Message: "the host does not speak version 2 of git's protocol",
			Remedy:  "Use a host with git 2.18 or newer, as GitHub, GitLab and Gitea have."}
	}
	h := host{repository: r}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		switch {
		case name == "fetch":
			h.filters = slices.Contains(strings.Fields(value), "filter")
		case name == "object-format" && value != "sha1":
			return h, &Error{Code: "protocol_new", Message: "the repository names objects by " + value,
				Remedy: "Use a repository whose objects are named by SHA-1."}
		}
	}
	return h, nil
}

// readTip asks which commit the branch is at.
func (h host) readTip(ctx context.Context) (string, error) {
	ref := "refs/heads/" + h.repository.Branch
	body, err := h.sendCommand(ctx, "ls-refs", "ref-prefix "+ref)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	lines, err := readLines(body)
	if err != nil {
		return "", err
	}
	for _, line := range lines {
		hash, name, _ := strings.Cut(line, " ")
		if name == ref && isHash(hash) {
			return hash, nil
		}
	}
	return "", &Error{Code: "branch_missing",
		Message: "the repository has no branch " + h.repository.Branch,
		Remedy:  "Correct the branch, or push it."}
}

// fetchObjects reads the objects that are wanted: with trees, the commit of that hash and its
// folders, and its files unless the host can leave them out; else the objects alone.
func (h host) fetchObjects(ctx context.Context, wanted []string, trees bool) (*objects, error) {
	arguments := []string{"no-progress", "ofs-delta"}
	if trees {
		arguments = append(arguments, "deepen 1")
		if h.filters {
			arguments = append(arguments, "filter blob:none")
		}
	}
	for _, hash := range wanted {
		arguments = append(arguments, "want "+hash)
	}
	body, err := h.sendCommand(ctx, "fetch", append(arguments, "done")...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	in := bufio.NewReaderSize(body, 64<<10)
	if err := skipToPack(in); err != nil {
		return nil, err
	}
	return readPack(&sideband{in: in}, h.repository.Limits)
}

// skipToPack reads past the sections before the pack.
func skipToPack(in *bufio.Reader) error {
	for range 10_000 {
		line, kind, err := readPacket(in)
		if err != nil {
			return err
		}
		text := strings.TrimSuffix(string(line), "\n")
		switch {
		case kind == packetFlush:
			return newDamagedError("there is no pack in the answer")
		case text == "packfile":
			return nil
		case strings.HasPrefix(text, "ERR "):
			return hostError(text[4:])
		}
	}
	return newDamagedError("the answer has no end")
}

// sendCommand sends one sendCommand of the protocol.
func (h host) sendCommand(
	ctx context.Context, name string, arguments ...string,
) (io.ReadCloser, error) {
	var b bytes.Buffer
	writePacket(&b, "command="+name+"\n")
	writePacket(&b, "agent=nullops\n")
	b.WriteString("0001")
	for _, a := range arguments {
		writePacket(&b, a+"\n")
	}
	b.WriteString("0000")
	return h.repository.sendRequest(ctx, http.MethodPost, "/git-upload-pack", &b)
}

func (r Repository) sendRequest(
	ctx context.Context, method, path string, body io.Reader,
) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(r.URL, "/")+path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("User-Agent", "nullops")
	req.Header.Set("Git-Protocol", "version=2")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
		req.Header.Set("Accept", "application/x-git-upload-pack-result")
	}
	if r.Password != "" {
		req.SetBasicAuth(r.Username, r.Password)
	}
	res, err := r.Client.Do(req)
	if err != nil {
		return nil, dialError(err)
	}
	if err := r.checkAnswer(res); err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	return res.Body, nil
}

// checkAnswer says what is wrong when no git repository answers.
func (r Repository) checkAnswer(res *http.Response) error {
	switch {
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		if r.Password == "" {
			return &Error{Code: "token_missing", Message: "the host wants to know who asks",
				Remedy: "Give a token that may read the repository."}
		}
		return &Error{Code: "token_refused", Message: "the host refuses the token",
			Remedy: "Give a token that is valid and may read the repository."}
	case res.StatusCode == http.StatusNotFound:
		return &Error{Code: "repository_missing",
			Message: "there is no such repository, or the token may not see it",
			Remedy:  "Correct the address, or give a token that may read the repository."}
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return &Error{Code: "redirected", Message: "the host redirects to " + shownTarget(res),
			Remedy: "Use the address of the repository itself: redirects are not followed."}
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500:
		return &Error{Code: "host_failing",
			Message: "the host answers " + strconv.Itoa(res.StatusCode),
			Remedy:  "It is asked again by itself. If it stays, look at the host."}
	case res.StatusCode != http.StatusOK,
		!strings.HasPrefix(res.Header.Get("Content-Type"), "application/x-git-upload-pack-"):
		return &Error{Code: "repository_missing",
			Message: "what answers at this address is no git repository",
			Remedy:  "Use the address that 'git clone' takes, which often ends with .git."}
	}
	return nil
}

func shownTarget(res *http.Response) string {
	u, err := url.Parse(res.Header.Get("Location"))
	if err != nil {
		return "another address"
	}
	u.User, u.RawQuery = nil, ""
	return strconv.Quote(strings.TrimSuffix(u.String(), "/info/refs"))
}

// dialError says why nothing answers. The reason of the dialer is kept.
func dialError(err error) error {
	if why, ok := errors.AsType[*url.Error](err); ok {
		err = why.Err
	}
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: "host_slow", Message: "the host did not answer in time",
			Remedy: "It is asked again by itself. If it stays, look at the host."}
	case unknown:
		return &Error{Code: "certificate_unknown",
			Message: "the host's certificate is not from an authority that is trusted here",
			Remedy:  "Give the certificate of its authority as ca."}
	}
	return &Error{Code: "host_unreachable", Message: "the host cannot be reached: " + err.Error(),
		Remedy: "Check the address, and that the control plane may connect to it."}
}

func hostError(text string) *Error {
	return &Error{Code: "host_refuses", Message: "the host says: " + firstLine(text),
		Remedy: "Look at the log of the code host."}
}

// Kinds of packets.
const (
	packetData = iota
	packetFlush
	packetDelimiter
)

// readPacket reads one packet: four hexadecimal digits with its length, and its data.
func readPacket(in io.Reader) (data []byte, kind int, err error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, 0, newDamagedError("the answer ends early")
	}
	n, err := strconv.ParseUint(string(head[:]), 16, 16)
	switch {
	case err != nil:
		return nil, 0, newDamagedError("the answer is not git's protocol")
	case n == 0, n == 2:
		return nil, packetFlush, nil
	case n == 1:
		return nil, packetDelimiter, nil
	case n < 4 || n > 65520:
		return nil, 0, newDamagedError("a packet has no valid length")
	}
	data = make([]byte, n-4)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, 0, newDamagedError("the answer ends early")
	}
	return data, packetData, nil
}

func writePacket(b *bytes.Buffer, text string) { fmt.Fprintf(b, "%04x%s", len(text)+4, text) }

// readLines reads packets until the last one of an answer.
func readLines(body io.Reader) (all []string, err error) {
	in := bufio.NewReader(io.LimitReader(body, maxGreeting))
	for {
		data, kind, err := readPacket(in)
		if err != nil {
			return nil, err
		}
		text := strings.TrimSuffix(string(data), "\n")
		switch {
		case strings.HasPrefix(text, "ERR "):
			return nil, hostError(text[4:])
		case kind == packetData:
			all = append(all, text)
		case kind == packetFlush && (len(all) != 1 || !strings.HasPrefix(all[0], "# service=")):
			return all, nil
		}
	}
}

// sideband reads the pack out of packets that also carry progress and errors.
type sideband struct {
	in   io.Reader
	rest []byte
}

func (s *sideband) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		data, kind, err := readPacket(s.in)
		switch {
		case err != nil:
			return 0, err
		case kind == packetFlush:
			return 0, io.EOF
		case len(data) == 0:
		case data[0] == 1:
			s.rest = data[1:]
		case data[0] == 3:
			return 0, hostError(string(data[1:]))
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func isHash(text string) bool {
	return len(text) == 2*hashSize && strings.Trim(text, "0123456789abcdef") == ""
}
