package runtimetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// What is written into a volume of a stopped service is there when it runs, with owners, modes and
// links; a volume in use is read but not written; and all volumes go with the deployment.
func volumesKeepTheirContent(b *testDeployment) {
	copier, ok := b.Runtime.(agent.VolumeCopier)
	if !ok {
		return // its deployments cannot be moved
	}
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	db := b.newService("db")
	db.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}}
	b.startReady(db)
	if n := b.countObjects("volume db"); n != 1 {
		b.Errorf("there are %d volumes: %v", n, b.listOwn())
	}
	_, err := b.Runtime.StopService(b.ctx, b.deployment, "db")
	b.mustSucceed(err)
	name := agent.NameVolume(b.deployment, "db", db.Volumes[0])
	b.mustSucceed(copier.WriteVolume(b.ctx, name, bytes.NewReader(b.packSample())))
	b.startReady(db)
	want := []string{"d volume/ 750 7:8", "f volume/file 640 70:71 10000", "l volume/link file"}
	if got := b.readEntries(copier, name); !slices.Equal(got, want) {
		b.Errorf("while its service runs, the volume has %q", got)
	}
	if n, err := copier.VolumeBytes(b.ctx, b.deployment); err != nil || n < 10_000 {
		b.Errorf("the volume takes %d bytes: %v", n, err)
	}
	if copier.WriteVolume(b.ctx, name, bytes.NewReader(nil)) == nil {
		b.Error("a volume in use was written")
	}
	if got := b.readEntries(copier, name); !slices.Equal(got, want) {
		b.Errorf("after a refused write, the volume has %q", got)
	}
}

// packSample makes an archive as ReadVolume does.
func (b *testDeployment) packSample() []byte {
	b.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, h := range []*tar.Header{
		{Typeflag: tar.TypeDir, Name: "volume/", Mode: 0o750, Uid: 7, Gid: 8, ModTime: at},
		{Typeflag: tar.TypeReg, Name: "volume/file", Mode: 0o640, Uid: 70, Gid: 71, Size: 10_000,
			ModTime: at},
		{Typeflag: tar.TypeSymlink, Name: "volume/link", Linkname: "file", Mode: 0o777, ModTime: at},
	} {
		b.mustSucceed(w.WriteHeader(h))
		_, err := w.Write(make([]byte, h.Size))
		b.mustSucceed(err)
	}
	b.mustSucceed(w.Close())
	return packed.Bytes()
}

func (b *testDeployment) readEntries(
	copier agent.VolumeCopier, name agent.VolumeName,
) (all []string) {
	b.Helper()
	archive, err := copier.ReadVolume(b.ctx, name)
	b.mustSucceed(err)
	defer func() { b.mustSucceed(archive.Close()) }()
	r := tar.NewReader(archive)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		b.mustSucceed(err)
		n, err := io.Copy(io.Discard, r)
		b.mustSucceed(err)
		switch h.Typeflag {
		case tar.TypeDir:
			all = append(all, fmt.Sprintf("d %s %o %d:%d", h.Name, h.Mode&0o7777, h.Uid, h.Gid))
		case tar.TypeReg:
			all = append(all, fmt.Sprintf("f %s %o %d:%d %d", h.Name, h.Mode&0o7777, h.Uid, h.Gid, n))
		default:
			all = append(all, fmt.Sprintf("l %s %s", h.Name, h.Linkname))
		}
	}
}
