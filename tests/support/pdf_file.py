"""PDF files, sound and hostile."""

import zlib


def pdf(text: str) -> bytes:
    """Return a PDF file of one page with a text."""
    return pdf_of(f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode())


def pdf_of(page: bytes, pages: bytes = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>") -> bytes:
    """Return a PDF file with these drawing operators on its page; `pages` is the list of its pages."""
    content = zlib.compress(page)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        pages,
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >> stream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, entry in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, entry)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + b"xref\n0 6\n0000000000 65535 f \n%strailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(body),
    )
