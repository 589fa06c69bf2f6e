package kubernetes

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nullops/nullops/pipeline"
)

// Kubernetes takes users and groups by number only. Their names are in the image's /etc/passwd and
// /etc/group, so the image's layers are read for these two, from the last one on, and no further
// than it takes. A container engine does the same on its machine.

const (
	passwdFile = "etc/passwd"
	groupFile  = "etc/group"
	// maxAccountFile bounds one of them.
	maxAccountFile = 1 << 20
	// accountTime bounds the reading of an image's layers.
	accountTime = 10 * time.Minute
)

// podUser is the user that a container runs as.
type podUser struct {
	uid int64
	// gid is nil where the machine knows better: the group that the image gives to that number.
	gid *int64
	// groups are the further ones.
	groups []int64
}

// userOf reads user[:group] as a container engine does. An empty one is the image's, and nil.
func (im *images) userOf(
	ctx context.Context, image pipeline.Image, user string,
) (*podUser, error) {
	if user == "" {
		return nil, nil
	}
	if user == "root" {
		return &podUser{}, nil
	}
	if u, ok := numericUser(user); ok {
		return &u, nil
	}
	accounts, err := im.accountsOf(ctx, image)
	if err != nil {
		return nil, fmt.Errorf("user %s cannot be looked up in image %s: %w; its number can be "+
			"used without that", user, imageReference(image), err)
	}
	u, err := accounts.find(user)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", imageReference(image), err)
	}
	return &u, nil
}

// numericUser reads a user of numbers only.
func numericUser(user string) (u podUser, ok bool) {
	name, group, grouped := strings.Cut(user, ":")
	uid, err := strconv.ParseInt(name, 10, 32)
	if err != nil || uid < 0 {
		return u, false
	}
	u.uid = uid
	if !grouped || group == "" {
		return u, true
	}
	gid, err := strconv.ParseInt(group, 10, 32)
	u.gid = &gid
	return u, err == nil && gid >= 0
}

// accounts are an image's users and groups.
type accounts struct{ passwd, group []byte }

// accountsOf returns those of an image; each is read once.
func (im *images) accountsOf(ctx context.Context, image pipeline.Image) (accounts, error) {
	ref := imageReference(image)
	im.mu.Lock()
	a, known := im.accounts[ref]
	im.mu.Unlock()
	if known {
		return a, nil
	}
	ctx, cancel := context.WithTimeout(ctx, accountTime)
	defer cancel()
	platforms, err := im.platforms(ctx)
	if err != nil {
		return a, err
	}
	found, err := openImage(ctx, image, im.pulls.authOf(image), platforms[0])
	if err != nil {
		return a, err
	}
	if a, err = readAccounts(found); err != nil {
		return a, err
	}
	if image.Digest != "" { // what a tag leads to may change
		im.mu.Lock()
		defer im.mu.Unlock()
		im.accounts[ref] = a
	}
	return a, nil
}

// readAccounts goes through the layers from the last one on: a file of a later layer hides those of
// earlier ones.
func readAccounts(image v1.Image) (accounts, error) {
	layers, err := image.Layers()
	if err != nil {
		return accounts{}, registryError(err)
	}
	found := map[string][]byte{}
	for _, layer := range slices.Backward(layers) {
		if err := readLayerAccounts(layer, found); err != nil {
			return accounts{}, registryError(err)
		}
		if len(found) == 2 {
			break
		}
	}
	return accounts{passwd: found[passwdFile], group: found[groupFile]}, nil
}

// readLayerAccounts adds what one layer has to what later ones had. A file that a layer removes is
// found, and empty.
func readLayerAccounts(layer v1.Layer, found map[string][]byte) error {
	content, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	archive, removed := tar.NewReader(bufio.NewReaderSize(content, 1<<20)), false
	own := map[string][]byte{}
	for len(found)+len(own) < 2 {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch name := path.Clean("/" + h.Name)[1:]; name {
		case passwdFile, groupFile:
			if _, later := found[name]; later {
				continue
			}
			if h.Typeflag != tar.TypeReg {
				return fmt.Errorf("its /%s is a link", name)
			}
			if own[name], err = io.ReadAll(io.LimitReader(archive, maxAccountFile)); err != nil {
				return err
			}
		case "etc/.wh.passwd", "etc/.wh.group":
			if file := strings.Replace(name, ".wh.", "", 1); found[file] == nil {
				own[file] = []byte{}
			}
		case "etc/.wh..wh..opq", ".wh.etc":
			removed = true
		}
	}
	maps.Copy(found, own)
	for _, name := range []string{passwdFile, groupFile} {
		if _, has := found[name]; removed && !has {
			found[name] = []byte{}
		}
	}
	return nil
}

// find looks a user up, by name or number, and a group after a colon. Without a group, it is the
// user's own, and those that name the user come with it.
func (a accounts) find(user string) (u podUser, err error) {
	name, group, _ := strings.Cut(user, ":")
	entry := findAccount(a.passwd, name, 4)
	if n, ok := numericUser(name); ok {
		u.uid = n.uid
	} else if entry == nil {
		return u, fmt.Errorf("it has no user %s in its /etc/passwd: correct the service's user",
			name)
	} else if u.uid, err = strconv.ParseInt(entry[2], 10, 32); err != nil {
		return u, fmt.Errorf("the number of user %s in its /etc/passwd is %q", name, entry[2])
	}
	switch gid, err := strconv.ParseInt(group, 10, 32); {
	case group == "":
		u.groups = a.groupsOf(name)
		group = entry[3]
	case err == nil:
		u.gid = &gid
		return u, nil
	default:
		entry := findAccount(a.group, group, 3)
		if entry == nil {
			return u, fmt.Errorf("it has no group %s in its /etc/group: correct the service's user",
				group)
		}
		group = entry[2]
	}
	gid, err := strconv.ParseInt(group, 10, 32)
	if err != nil {
		return u, fmt.Errorf("the number of the group of user %s is %q", user, group)
	}
	u.gid = &gid
	return u, nil
}

// groupsOf lists the groups that name a user as a member.
func (a accounts) groupsOf(name string) (all []int64) {
	for line := range bytes.Lines(a.group) {
		fields := strings.Split(strings.TrimSpace(string(line)), ":")
		if len(fields) < 4 || !slices.Contains(strings.Split(fields[3], ","), name) {
			continue
		}
		if gid, err := strconv.ParseInt(fields[2], 10, 32); err == nil {
			all = append(all, gid)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// findAccount returns the fields of the first line with this name.
func findAccount(file []byte, name string, fields int) []string {
	for line := range bytes.Lines(file) {
		all := strings.Split(strings.TrimSpace(string(line)), ":")
		if all[0] == name && len(all) >= fields {
			return all
		}
	}
	return nil
}
