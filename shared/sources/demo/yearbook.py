"""Writes documents/nassau/tourism/visitor-yearbook.pdf: one page of text in a standard font, no libraries needed."""

from pathlib import Path

TITLE = "[Demo data] Visitor yearbook for Nassau and Paradise Island, 2025"
TEXT = """\
This yearbook is invented for demonstration. The Visitor Statistics Office that
signs it does not exist, and its figures are made up.

1. Main figures

In the year 2025 the yearbook counts 1,742,000 stopover visitors in Nassau and
on Paradise Island. A stopover visitor is somebody who sleeps at least one night
on land. The average stay was 5.2 nights. By country of residence 71% came from
the United States, 12% from Canada, 11% from Europe and 6% from elsewhere.

2. How it is counted

The yearbook is drawn from the records of the border office and corrected for
residents who return. The correction was 6% in 2025. The yearbook covers the same
area and the same twelve months as the stopover bulletin, whose figures are
lower. The office gives no reason for the difference.

3. Why people come

Beach and rest is the main purpose for 64% of stopover visitors, visiting
friends and relatives for 11%, business and meetings for 9%, weddings for 5%.
In all, 8% say that sport or wellness was one of the three main reasons for
choosing Nassau; in 2019 it was 5%.

4. Spending

A stopover visitor spends $1,910 during the stay, of which $690 goes to the
room and $168 to activities and excursions. Spending on activities grew by 7%
over the year before, faster than any other part. Visitors who name wellness
among their reasons spend $214 on activities.

5. Age and company

The median age of stopover visitors is 43. Couples are 48%, families with
children 27%, groups of friends 16% and people who travel alone 9%. Groups of
friends book activities earlier than others do, on average 19 days before the
journey, and they ask more often for private sessions.

6. Outlook

The office expects 3% more stopover visitors in 2026 if two new hotels open on
time. It expects no change in the length of stay. The share of visitors who name
wellness as a reason is expected to go on growing slowly.
"""


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


lines = [f"BT /F2 13 Tf 60 790 Td ({escaped(TITLE)}) Tj ET", "BT /F1 10.5 Tf 14 TL 60 764 Td"]
lines += [f"({escaped(line)}) Tj T*" for line in TEXT.splitlines()] + ["ET"]
stream = "\n".join(lines).encode("ascii")
font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
objects = [
    b"<< /Type /Catalog /Pages 2 0 R >>",
    b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
    b" /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
    b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    font.format("Helvetica").encode(),
    font.format("Helvetica-Bold").encode(),
    b"<< /Title (%s) >>" % escaped(TITLE).encode(),
]
out, offsets = bytearray(b"%PDF-1.4\n"), []
for number, body in enumerate(objects, 1):
    offsets.append(len(out))
    out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
table = len(out)
out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
out += b"trailer\n<< /Size %d /Root 1 0 R /Info 7 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
target = Path(__file__).parent / "documents/nassau/tourism/visitor-yearbook.pdf"
target.write_bytes(out)
