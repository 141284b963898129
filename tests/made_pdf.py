"""Small PDF files: text at places, in Helvetica."""

from collections.abc import Sequence

Placed = tuple[float, float, str]  # x, y from the foot of the page, text


def made_pdf(*pages: Sequence[Placed], title: str = "") -> bytes:
    """A file with pages of 600 by 800 points."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for placed in pages:
        drawn = "".join(
            "BT /F1 10 Tf {} {} Td ({}) Tj ET\n".format(x, y, text.replace("(", "\\(").replace(")", "\\)"))
            for x, y, text in placed
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}endstream")
        kids.append(len(objects) + 1)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {len(objects)} 0 R >>"
        )
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >>"
    objects.append(f"<< /Title ({title}) >>")
    out, starts = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        starts.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{start:010d} 00000 n \n" for start in starts)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    tail = f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\nstartxref\n"
    return (out + tail + f"{out.index('xref')}\n%%EOF\n").encode("latin-1")
