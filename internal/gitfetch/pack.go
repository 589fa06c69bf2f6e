package gitfetch

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git names objects by it; see the inventory in docs/security
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/nullops/nullops/internal/quantity"
)

const hashSize = sha1.Size

// Kinds of objects in a pack.
const (
	kindCommit   = 1
	kindTree     = 2
	kindBlob     = 3
	kindTag      = 4
	kindOffDelta = 6
	kindRefDelta = 7
)

var kindNames = map[int]string{kindCommit: "commit", kindTree: "tree", kindBlob: "blob",
	kindTag: "tag"}

type object struct {
	kind int
	data []byte
}

// objects are those of a pack by their hash in hexadecimal. One that is larger than the limit of
// an object is left out.
type objects struct {
	byHash map[string]object
	limits Limits
	size   int64
}

func newObjects(l Limits) *objects { return &objects{byHash: map[string]object{}, limits: l} }

func (o *objects) hasObject(hash string) bool { _, ok := o.byHash[hash]; return ok }

func (o *objects) getObject(hash string, kind int) (object, error) {
	found, ok := o.byHash[hash]
	if !ok || found.kind != kind {
		return found, newDamagedError("the " + kindNames[kind] + " " + hash + " is missing")
	}
	return found, nil
}

func (o *objects) addObjects(more *objects) {
	maps.Copy(o.byHash, more.byHash)
}

func newDamagedError(message string) *Error {
	return &Error{Code: "repository_damaged", Message: "what the host sent is damaged: " + message,
		Remedy: "Try again. If it stays, check the repository with 'git fsck'."}
}

// storeObject keeps an object under its hash.
func (o *objects) storeObject(one object) (hash string, err error) {
	if o.size += int64(len(one.data)); o.size > o.limits.Objects {
		return "", tooLarge("the repository has more than " + quantity.FormatBytes(o.limits.Objects) +
			" at this branch, and its host cannot filter")
	}
	sum := sha1.New() //nolint:gosec // as above
	fmt.Fprintf(sum, "%s %d\x00", kindNames[one.kind], len(one.data))
	_, _ = sum.Write(one.data)
	hash = hex.EncodeToString(sum.Sum(nil))
	o.byHash[hash] = one
	return hash, nil
}

// countedReader knows at which offset of the pack it is. Inflating reads it byte by byte, so that
// it stops where an object ends.
type countedReader struct {
	r *bufio.Reader
	n int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *countedReader) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// pendingDelta waits for its base, which comes later in the pack.
type pendingDelta struct {
	offset int64
	base   string
	delta  []byte
}

// packReader reads one pack.
type packReader struct {
	in      *countedReader
	out     *objects
	inflate io.ReadCloser
	// hashes are those of objects by their offset; "" is one that was too large to keep.
	hashes  map[int64]string
	pending []pendingDelta
	// skipped is how many bytes were inflated and not kept.
	skipped int64
}

// most is how many objects a pack may announce, and mostSkipped how many bytes are inflated only to
// get past them.
const (
	mostObjects = 1 << 20
	mostSkipped = 1 << 30
)

// readPack reads all objects of a pack.
func readPack(r io.Reader, limits Limits) (*objects, error) {
	bounded := &io.LimitedReader{R: r, N: limits.Pack}
	p := packReader{in: &countedReader{r: bufio.NewReaderSize(bounded, 64<<10)},
		out: newObjects(limits), hashes: map[int64]string{}}
	err := p.readPack()
	switch refused, known := errors.AsType[*Error](err); {
	case err == nil:
		return p.out, nil
	case bounded.N <= 0:
		return nil, tooLarge("the host sent more than " + quantity.FormatBytes(limits.Pack))
	case known:
		return nil, refused
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, zlib.ErrHeader),
		errors.Is(err, zlib.ErrChecksum):
		return nil, newDamagedError(err.Error())
	}
	return nil, err
}

func (p *packReader) readPack() error {
	var head [12]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return err
	}
	count := binary.BigEndian.Uint32(head[8:])
	if string(head[:4]) != "PACK" || binary.BigEndian.Uint32(head[4:]) != 2 {
		return newDamagedError("this is not a pack of version 2")
	}
	if count > mostObjects {
		return tooLarge(fmt.Sprintf("the repository has %d files and folders at this branch", count))
	}
	for range count {
		if err := p.readObject(); err != nil {
			return err
		}
	}
	return p.resolvePending()
}

func (p *packReader) readObject() error {
	offset := p.in.n
	kind, size, err := p.readHeader()
	if err != nil {
		return err
	}
	var base string
	switch kind {
	case kindOffDelta:
		back, err := p.readBackOffset()
		if err != nil {
			return err
		}
		known := false
		if base, known = p.hashes[offset-back]; !known {
			return newDamagedError("a delta has no base")
		}
	case kindRefDelta:
		var hash [hashSize]byte
		if _, err := io.ReadFull(p.in, hash[:]); err != nil {
			return err
		}
		base = hex.EncodeToString(hash[:])
	case kindCommit, kindTree, kindBlob, kindTag:
	default:
		return newDamagedError("there is no kind of object " + fmt.Sprint(kind))
	}
	data, err := p.readData(size)
	if err != nil {
		return err
	}
	isDelta := kind == kindOffDelta || kind == kindRefDelta
	switch {
	case data == nil, isDelta && base == "":
		// Too large to be kept, or a change of something that was.
		p.hashes[offset] = ""
		return nil
	case kind == kindRefDelta && !p.out.hasObject(base):
		p.pending = append(p.pending, pendingDelta{offset, base, data})
		p.hashes[offset] = ""
		return nil
	case isDelta:
		return p.storeDelta(offset, base, data)
	}
	p.hashes[offset], err = p.out.storeObject(object{kind, data})
	return err
}

// readHeader reads the kind of an object and its size when inflated.
func (p *packReader) readHeader() (kind int, size int64, err error) {
	b, err := p.in.ReadByte()
	if err != nil {
		return 0, 0, io.ErrUnexpectedEOF
	}
	kind, size = int(b>>4&7), int64(b&15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = p.in.ReadByte(); err != nil || shift > 40 {
			return 0, 0, newDamagedError("an object's size cannot be read")
		}
		size |= int64(b&0x7f) << shift
	}
	return kind, size, nil
}

// readBackOffset reads how far before a delta its base is.
func (p *packReader) readBackOffset() (back int64, err error) {
	for i := 0; ; i++ {
		b, err := p.in.ReadByte()
		if err != nil || i > 6 {
			return 0, newDamagedError("a delta's base cannot be read")
		}
		back = back<<7 | int64(b&0x7f)
		if b&0x80 == 0 {
			return back, nil
		}
		back++
	}
}

// readData inflates an object; nil for one that is too large to keep.
func (p *packReader) readData(size int64) (data []byte, err error) {
	if p.inflate == nil {
		p.inflate, err = zlib.NewReader(p.in)
	} else {
		err = p.inflate.(zlib.Resetter).Reset(p.in, nil)
	}
	if err != nil {
		return nil, err
	}
	if size > p.out.limits.Object {
		if p.skipped += size; p.skipped > mostSkipped {
			return nil, tooLarge("the repository's files have more than " +
				quantity.FormatBytes(mostSkipped))
		}
		n, err := io.Copy(io.Discard, io.LimitReader(p.inflate, size+1))
		if err == nil && n != size {
			err = newDamagedError("an object has another size than it says")
		}
		return nil, err
	}
	data = make([]byte, size)
	if _, err := io.ReadFull(p.inflate, data); err != nil {
		return nil, err
	}
	if n, err := p.inflate.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return nil, newDamagedError("an object has another size than it says")
	}
	return data, nil
}

func (p *packReader) storeDelta(offset int64, base string, delta []byte) error {
	from := p.out.byHash[base]
	data, err := applyDelta(from.data, delta, p.out.limits.Object)
	if err != nil || data == nil {
		p.hashes[offset] = ""
		return err
	}
	p.hashes[offset], err = p.out.storeObject(object{from.kind, data})
	return err
}

// resolvePending stores the deltas whose bases came after them, until none of the rest has one.
func (p *packReader) resolvePending() error {
	for again := true; again && len(p.pending) > 0; {
		again = false
		rest := p.pending[:0]
		for _, one := range p.pending {
			if !p.out.hasObject(one.base) {
				rest = append(rest, one)
				continue
			}
			again = true
			if err := p.storeDelta(one.offset, one.base, one.delta); err != nil {
				return err
			}
		}
		p.pending = rest
	}
	return nil
}

// applyDelta makes an object from its base; nil for one that is larger than most.
func applyDelta(base, delta []byte, most int64) ([]byte, error) {
	in := bytes.NewReader(delta)
	from, err1 := binary.ReadUvarint(in)
	size, err2 := binary.ReadUvarint(in)
	switch {
	case err1 != nil || err2 != nil || from != uint64(len(base)):
		return nil, newDamagedError("a delta does not fit its base")
	case size > uint64(most):
		return nil, nil
	}
	out := make([]byte, 0, size)
	for in.Len() > 0 {
		op, _ := in.ReadByte()
		if op&0x80 == 0 {
			piece := make([]byte, op)
			if _, err := io.ReadFull(in, piece); err != nil || op == 0 {
				return nil, newDamagedError("a delta cannot be read")
			}
			out = append(out, piece...)
		} else {
			at, n := readCopy(in, op)
			if at+n > uint64(len(base)) {
				return nil, newDamagedError("a delta leads outside its base")
			}
			out = append(out, base[at:at+n]...)
		}
		if uint64(len(out)) > size {
			return nil, newDamagedError("a delta makes more than it says")
		}
	}
	if uint64(len(out)) != size {
		return nil, newDamagedError("a delta makes less than it says")
	}
	return out, nil
}

// readCopy reads which part of the base is copied. A byte that is missing counts as zero: the
// delta then does not make what it says.
func readCopy(in *bytes.Reader, op byte) (at, n uint64) {
	for i := range 4 {
		if op&(1<<i) != 0 {
			b, _ := in.ReadByte()
			at |= uint64(b) << (8 * i)
		}
	}
	for i := range 3 {
		if op&(0x10<<i) != 0 {
			b, _ := in.ReadByte()
			n |= uint64(b) << (8 * i)
		}
	}
	if n == 0 {
		n = 0x10000
	}
	return at, n
}
