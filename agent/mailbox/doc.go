// Package mailbox catches the mails of deployments: it speaks SMTP with their services, keeps each
// mail as a file, and reads it again for people.
//
// Nothing leaves the node: a mail is stored, and never passed on. Any user name and password is
// accepted, since they are the application's and protect nothing here.
//
// What an application sends is hostile until shown otherwise. Each deployment has a mailbox with
// limits of its own, in which the oldest mails make room, and all mailboxes of a node share a limit
// in which the fullest one does. A mail goes to disk as it comes, so that memory does not depend on
// its size, and reading one is bounded in depth, parts, and what is shown.
package mailbox
