package backup

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// writingEnding marks a file that is not whole yet.
const writingEnding = ".writing"

// writeFile writes one sealed file and puts it in its place once it is on the disk.
func (f *Folder) writeFile(
	kind fileKind, name string, fill func(io.Writer) error,
) (s storedFile, err error) {
	return f.replaceFile(name, func(out io.Writer) (string, error) {
		w, err := newWriter(kind, f.keys, out)
		if err != nil {
			return "", err
		}
		if err := fill(w); err != nil {
			return "", err
		}
		return w.id, w.close()
	})
}

// replaceFile writes a file under another name first. fill returns the ID inside.
func (f *Folder) replaceFile(
	name string, fill func(io.Writer) (string, error),
) (s storedFile, err error) {
	path := filepath.Join(f.path, name)
	file, err := os.OpenFile(path+writingEnding, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return s, err
	}
	sum := &countedSum{Hash: sha256.New()}
	out := bufio.NewWriter(io.MultiWriter(file, sum))
	s.ID, err = fill(out)
	if err == nil {
		err = errors.Join(out.Flush(), file.Sync())
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(path+writingEnding, path)
	}
	if err != nil {
		return s, errors.Join(err, os.Remove(path+writingEnding))
	}
	s.File, s.Sum, s.Size = name, hex.EncodeToString(sum.Sum(nil)), sum.n
	return s, syncFolder(f.path)
}

// syncFolder has the names in a folder survive a crash of the machine.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// countedSum is a checksum that knows how much it is of.
type countedSum struct {
	hash.Hash

	n int64
}

func (c *countedSum) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Hash.Write(p)
}

// writeVolume writes what read gives into a new file. It has to be a whole archive.
func (f *Folder) writeVolume(
	label volumeLabel, read func(to io.Writer) error,
) (v storedVolume, err error) {
	name := make([]byte, 16)
	if _, err := rand.Read(name); err != nil {
		return v, err
	}
	line, err := json.Marshal(label)
	if err != nil {
		return v, err
	}
	v.volumeLabel = label
	v.storedFile, err = f.writeFile(volumeFile, hex.EncodeToString(name)+volumeEnding,
		func(w io.Writer) error {
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
			check := newArchiveCheck()
			err := read(io.MultiWriter(w, check))
			v.Bytes = check.n
			return check.end(err)
		})
	return v, err
}

// openFile opens a file of the folder.
func (f *Folder) openFile(s storedFile) (*os.File, error) {
	if s.File != filepath.Base(s.File) {
		return nil, errDamaged
	}
	file, err := os.Open(filepath.Join(f.path, s.File))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the file %s is missing", s.File)
	}
	return file, err
}

// checkSum reads a whole file.
func (f *Folder) checkSum(s storedFile) error {
	file, err := f.openFile(s)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	sum := &countedSum{Hash: sha256.New()}
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if sum.n != s.Size || hex.EncodeToString(sum.Sum(nil)) != s.Sum {
		return fmt.Errorf("the file %s: %w", s.File, errDamaged)
	}
	return nil
}

// OpenDatabase opens the database's file, which backup.Read reads, once it is proven to be that
// of this backup.
func (f *Folder) OpenDatabase() (io.ReadCloser, error) {
	if f.index.Database.File == "" {
		return nil, fmt.Errorf("the backup in %s was interrupted before the database was copied: start "+
			"'nullops backup' again with the same options", f.path)
	}
	if err := f.checkSum(f.index.Database); err != nil {
		return nil, err
	}
	return f.openFile(f.index.Database)
}

// volumeReader is the archive in a volume's file.
type volumeReader struct {
	io.Reader

	file *os.File
}

func (v *volumeReader) Close() error { return v.file.Close() }

// openVolume opens the archive of a volume, if the file is that of this volume.
func (f *Folder) openVolume(v storedVolume) (*volumeReader, error) {
	file, err := f.openFile(v.storedFile)
	if err != nil {
		return nil, err
	}
	content, err := openLabelled(f, file, v)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("the file %s: %w", v.File, err)
	}
	return &volumeReader{Reader: content, file: file}, nil
}

func openLabelled(f *Folder, file io.Reader, v storedVolume) (io.Reader, error) {
	r, err := newReader(volumeFile, f.keys, bufio.NewReader(file))
	if err != nil || r.id != v.ID {
		return nil, errDamaged
	}
	content := bufio.NewReaderSize(r, 1<<16)
	line, err := content.ReadSlice('\n')
	if err != nil {
		return nil, asDamaged(err)
	}
	var label volumeLabel
	if err := json.Unmarshal(line, &label); err != nil || label != v.volumeLabel {
		return nil, errDamaged
	}
	return content, nil
}

// verifyVolume proves that a volume's file is the one that was written, to its end.
func (f *Folder) verifyVolume(v storedVolume) error {
	if err := f.checkSum(v.storedFile); err != nil {
		return err
	}
	content, err := f.openVolume(v)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	n, err := io.Copy(io.Discard, content)
	if err == nil && n != v.Bytes {
		err = errDamaged
	}
	if err != nil {
		return fmt.Errorf("the file %s: %w", v.File, err)
	}
	return nil
}
