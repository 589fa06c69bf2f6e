package mailbox

import (
	"encoding/base64"
	"io"
	"slices"
	"strings"
)

const (
	// maxImages is how much of a mail's own images is put into its page, and maxImage how large one
	// may be, in bytes.
	maxImages = 4 << 20
	maxImage  = 1 << 20
)

// imageTypes are the types of images that a page may show. SVG is not among them: it is a document.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Page returns the HTML of a mail for a sandboxed frame: images that came with the mail are in it.
// It is as hostile as before.
func (b *Box) Page(number int64, mask func(string) string) (string, error) {
	m, err := b.Read(number)
	if err != nil {
		return "", err
	}
	// Before the images come in: they are no text.
	page := mask(m.HTML)
	if !strings.Contains(page, "cid:") {
		return page, nil
	}
	images, err := b.ownImages(number, page)
	if err != nil {
		return "", err
	}
	return strings.NewReplacer(images...).Replace(page), nil
}

// ownImages returns pairs of a reference in the page and the image that it means.
func (b *Box) ownImages(number int64, page string) (pairs []string, err error) {
	b.store.parsers <- struct{}{}
	defer func() { <-b.store.parsers }()
	room := int64(maxImages)
	_, err = b.walkParts(number, func(a Attachment, content io.Reader) error {
		reference := "cid:" + a.ContentID
		if a.ContentID == "" || !slices.Contains(imageTypes, a.Type) || room < maxImage ||
			!strings.Contains(page, reference) {
			return nil
		}
		data, err := io.ReadAll(io.LimitReader(content, maxImage+1))
		if err != nil || len(data) > maxImage {
			return nil //nolint:nilerr // a damaged image is not shown
		}
		room -= int64(len(data))
		pairs = append(pairs, reference,
			"data:"+a.Type+";base64,"+base64.StdEncoding.EncodeToString(data))
		return nil
	})
	return pairs, err
}
