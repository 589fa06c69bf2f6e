package dockertest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// SecretPlaces are where a secret must not be.
type SecretPlaces struct {
	// Host is an engine: what it says of every container, image, network and
	// volume is searched, with every container's log. Empty means none.
	Host string
	// Folders are searched with everything below. Give the engine's data root
	// and execution root, and the agent's data folder, here.
	Folders []string
	// Texts are further contents by name, such as a database dump.
	Texts map[string][]byte
}

// SecretForms returns the spellings under which a secret may hide, by name: raw,
// base64 at each of the three alignments and in both alphabets, hex in both
// cases, URL-escaped and JSON-escaped. A secret should be 12 bytes or longer,
// or its forms turn up by chance.
func SecretForms(secret string) map[string][]byte {
	raw := []byte(secret)
	forms := map[string][]byte{
		"raw":       raw,
		"hex":       []byte(hex.EncodeToString(raw)),
		"HEX":       []byte(strings.ToUpper(hex.EncodeToString(raw))),
		"url query": []byte(url.QueryEscape(secret)),
		"url path":  []byte(url.PathEscape(secret)),
	}
	quoted, _ := json.Marshal(secret)
	forms["json"] = bytes.Trim(quoted, `"`)
	for shift := range 3 {
		forms[fmt.Sprintf("base64 at %d", shift)] = alignedBase64(base64.StdEncoding, raw, shift)
		forms[fmt.Sprintf("base64url at %d", shift)] = alignedBase64(base64.URLEncoding, raw, shift)
	}
	return forms
}

// alignedBase64 returns the characters of a secret's base64 form that do not depend
// on its neighbours, when shift bytes come before it in its group of three.
func alignedBase64(e *base64.Encoding, raw []byte, shift int) []byte {
	text := e.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, shift), raw...))
	first := []int{0, 2, 3}[shift]
	last := (shift + len(raw)) * 8 / 6
	return []byte(text[first:last])
}

// FindSecret returns where a secret is found, each with the form.
func FindSecret(ctx context.Context, secret string, p SecretPlaces) ([]string, error) {
	s := &scan{forms: SecretForms(secret)}
	for name, text := range p.Texts {
		if err := s.searchReader(name, bytes.NewReader(text)); err != nil {
			return nil, err
		}
	}
	for _, folder := range p.Folders {
		if err := s.searchFolder(ctx, folder); err != nil {
			return nil, fmt.Errorf("search %s: %w", folder, err)
		}
	}
	if err := s.commandLines(); err != nil {
		return nil, err
	}
	if p.Host != "" {
		if err := s.searchEngine(ctx, p.Host); err != nil {
			return nil, fmt.Errorf("search engine %s: %w", p.Host, err)
		}
	}
	slices.Sort(s.hits)
	return slices.Compact(s.hits), nil
}

type scan struct {
	forms map[string][]byte
	hits  []string
}

// searchReader searches a stream in pieces that overlap by the longest form.
func (s *scan) searchReader(name string, r io.Reader) error {
	longest := 0
	for _, form := range s.forms {
		longest = max(longest, len(form))
	}
	buf := make([]byte, 256<<10+longest)
	kept := 0
	for {
		n, err := io.ReadFull(r, buf[kept:])
		s.searchBytes(name, buf[:kept+n])
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		kept = copy(buf, buf[len(buf)-longest:])
	}
}

func (s *scan) searchBytes(name string, data []byte) {
	for form, pattern := range s.forms {
		if bytes.Contains(data, pattern) {
			s.hits = append(s.hits, name+" ("+form+")")
		}
	}
}

// searchFolder searches names and contents. Files vanish while we look; overlay's
// merged folders show what their layers hold already.
func (s *scan) searchFolder(ctx context.Context, root string) error {
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		s.searchBytes("the name of "+path, []byte(path))
		if e.IsDir() && (e.Name() == "merged" || e.Name() == "rootfs") {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() {
			return nil
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		// A namespace that is bound to a file has nothing to read.
		if err := s.searchReader(path, f); !errors.Is(err, syscall.EINVAL) {
			return err
		}
		return nil
	})
}

// commandLines searches the arguments of every process on the machine.
func (s *scan) commandLines() error {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, path := range all {
		if data, err := os.ReadFile(path); err == nil {
			s.searchBytes(path, data)
		}
	}
	return nil
}

// searchEngine searches what the engine says about everything it has.
func (s *scan) searchEngine(ctx context.Context, host string) error {
	api, err := client.New(client.WithHost(host))
	if err != nil {
		return err
	}
	defer func() { _ = api.Close() }()
	if err := s.searchContainers(ctx, api); err != nil {
		return fmt.Errorf("containers: %w", err)
	}
	images, err := api.ImageList(ctx, client.ImageListOptions{All: true})
	if err != nil {
		return fmt.Errorf("images: %w", err)
	}
	for _, i := range images.Items {
		r, err := api.ImageInspect(ctx, i.ID)
		if err == nil {
			s.searchValue("inspect image "+i.ID, r)
		}
	}
	networks, err := api.NetworkList(ctx, client.NetworkListOptions{})
	if err != nil {
		return fmt.Errorf("networks: %w", err)
	}
	s.searchValue("networks", networks)
	volumes, err := api.VolumeList(ctx, client.VolumeListOptions{})
	if err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	s.searchValue("volumes", volumes)
	return nil
}

func (s *scan) searchContainers(ctx context.Context, api *client.Client) error {
	list, err := api.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return err
	}
	for _, c := range list.Items {
		name := strings.Join(c.Names, " ")
		s.searchValue("list of containers: "+name, c)
		r, err := api.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
		if err != nil {
			continue // Gone in between.
		}
		s.searchBytes("inspect container "+name, r.Raw)
		logs, err := api.ContainerLogs(ctx, c.ID,
			client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
		if err != nil {
			continue // A driver that keeps no logs.
		}
		var text bytes.Buffer
		_, _ = stdcopy.StdCopy(&text, &text, logs)
		_ = logs.Close()
		s.searchBytes("log of container "+name, text.Bytes())
	}
	return nil
}

func (s *scan) searchValue(name string, v any) {
	if data, err := json.Marshal(v); err == nil {
		s.searchBytes(name, data)
	}
}
