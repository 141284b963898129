"""HTML around a text, in the style of five kinds of site.

The element with id="text" contains the text and nothing else: the truth is computed from its lines.
"""

from html import escape
from random import Random

PIECES = {
    "eng": ("Home", "News", "Culture", "Travel", "Science", "Contact", "Search", "Sign in",
            "Subscribe to our newsletter",
            "We use cookies to improve your experience. By continuing to use this site you agree to our cookie policy.",
            "Accept all", "Related articles", "Share this article", "All rights reserved.", "Privacy policy",
            "comments"),
    "fra": ("Accueil", "Actualités", "Culture", "Voyages", "Sciences", "Contact", "Rechercher", "Se connecter",
            "Abonnez-vous à notre lettre", "Nous utilisons des cookies pour améliorer votre visite.", "Tout accepter",
            "À lire aussi", "Partager cet article", "Tous droits réservés.", "Confidentialité", "commentaires"),
    "deu": ("Startseite", "Nachrichten", "Kultur", "Reisen", "Wissen", "Kontakt", "Suche", "Anmelden",
            "Newsletter bestellen", "Wir verwenden Cookies, um Ihren Besuch angenehmer zu machen.", "Alle annehmen",
            "Mehr zum Thema", "Artikel teilen", "Alle Rechte vorbehalten.", "Datenschutz", "Kommentare"),
    "spa": ("Inicio", "Noticias", "Cultura", "Viajes", "Ciencia", "Contacto", "Buscar", "Entrar",
            "Suscríbase a nuestro boletín", "Usamos cookies para mejorar su visita.", "Aceptar todo",
            "Artículos relacionados", "Compartir", "Todos los derechos reservados.", "Privacidad", "comentarios"),
    "rus": ("Главная", "Новости", "Культура", "Путешествия", "Наука", "Контакты", "Поиск", "Войти",
            "Подпишитесь на рассылку", "Мы используем файлы cookie.", "Принять", "Читайте также", "Поделиться",
            "Все права защищены.", "Конфиденциальность", "комментариев"),
    "jpn": ("ホーム", "ニュース", "文化", "旅行", "科学", "お問い合わせ", "検索", "ログイン", "メールマガジン登録",
            "このサイトはクッキーを使用しています。", "同意する", "関連記事", "共有する", "無断転載を禁じます。",
            "プライバシー", "件のコメント"),
    "zho": ("首页", "新闻", "文化", "旅行", "科学", "联系", "搜索", "登录", "订阅", "本网站使用小型文本文件。", "接受",
            "相关文章", "分享", "版权所有。", "隐私", "条评论"),
}  # fmt: skip
ADS = (
    "Advertisement: The Old Mill Hotel, forty rooms by the river.",
    "Sponsored: socks that last a lifetime, or almost.",
    "Advertisement. Learn to sail in nine days!",
    "Sponsored: try our oat biscuits free for 30 days.",
)


def words(lang: str) -> tuple[str, ...]:
    """The site's own words in a language; English for a site without a translation."""
    return PIECES.get(lang, PIECES["eng"])


def blocks(lines: tuple[str, ...], tag: str = "p") -> str:
    """Each line in its own element; a line with line breaks in a <pre>."""
    return "\n".join(
        f"<pre>{escape(line, quote=False)}</pre>" if "\n" in line else f"<{tag}>{escape(line, quote=False)}</{tag}>"
        for line in lines
    )


def news(site: str, title: str, lines: tuple[str, ...], lang: str, code: str, meta: str, rng: Random) -> str:
    w = words(lang)
    others = "".join(
        f'<li><a href="/story/{rng.randint(1000, 9999)}">{w[rng.randint(1, 4)]} {n}</a></li>' for n in range(1, 6)
    )
    return f"""<!DOCTYPE html>
<html lang="{code}">
<head>{meta}<title>{escape(title)} | {site}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/static/site.{rng.randint(10000, 99999)}.css">
<script>window.dataLayer = window.dataLayer || [];
function tag() {{ dataLayer.push(arguments); }} tag("page", "{site}");</script>
</head>
<body>
<div class="cookie-banner" role="dialog"><p>{w[9]}</p><button>{w[10]}</button></div>
<header><a class="logo" href="/">{site}</a><nav><ul><li><a href="/">{w[0]}</a></li><li><a href="/news">{w[1]}</a></li>
<li><a href="/culture">{w[2]}</a></li><li><a href="/travel">{w[3]}</a></li><li><a href="/science">{w[4]}</a></li>
</ul></nav>
<a href="/login">{w[7]}</a></header>
<main><article><h1>{escape(title)}</h1>
<div id="text">
{blocks(lines)}
</div>
<div class="share">{w[12]}</div>
</article></main>
<aside><h2>{w[11]}</h2><ul>{others}</ul><div class="ad">{rng.choice(ADS)}</div></aside>
<footer><p>&copy; 2024 {site}. {w[13]}</p><a href="/privacy">{w[14]}</a> <a href="/contact">{w[5]}</a></footer>
</body>
</html>
"""


def blog(site: str, title: str, lines: tuple[str, ...], lang: str, code: str, meta: str, rng: Random) -> str:
    w = words(lang)
    return f"""<!DOCTYPE html>
<html lang="{code}">
<head>{meta}<title>{escape(title)}</title><link rel="alternate" type="application/rss+xml" href="/feed.xml">
<style>body {{ max-width: 38em; margin: 2em auto; font-family: serif; }}</style></head>
<body>
<nav><a href="/">{w[0]}</a> &middot; <a href="/archive">Archive</a> &middot; <a href="/about">About</a></nav>
<article>
<h1>{escape(title)}</h1>
<div id="text">
{blocks(lines)}
</div>
</article>
<section class="comments"><h3>{rng.randint(0, 40)} {w[15]}</h3></section>
<footer>{site} &middot; {w[8]}</footer>
</body></html>
"""


def plain(site: str, title: str, lines: tuple[str, ...], lang: str, code: str, meta: str, rng: Random) -> str:
    return f"""<HTML><HEAD>{meta}<TITLE>{escape(title)}</TITLE></HEAD>
<BODY BGCOLOR="#FFFFFF" TEXT="#000000">
<TABLE WIDTH="640" BORDER="0"><TR>
<TD VALIGN="top" WIDTH="120"><A HREF="index.html">Index</A><BR><A HREF="part{rng.randint(1, 40)}.html">Next</A></TD>
<TD><H2>{escape(title)}</H2>
<DIV ID="text">
{blocks(lines)}
</DIV>
<HR><FONT SIZE="1">Last changed on {rng.randint(1, 28)}.{rng.randint(1, 12)}.2004.
You are visitor number {rng.randint(1000, 99999)}.</FONT>
</TD></TR></TABLE></BODY></HTML>
"""


def manual(site: str, title: str, lines: tuple[str, ...], lang: str, code: str, meta: str, rng: Random) -> str:
    entries = "".join(
        f'<li><a href="{name}.html">{name.title()}</a></li>'
        for name in ("overview", "install", "guide", "reference", "changes")
    )
    return f"""<!doctype html>
<html lang="{code}"><head>{meta}<title>{escape(title)} &mdash; {site} documentation</title>
<script src="_static/doctools.js"></script></head>
<body><div class="sidebar"><h3>Navigation</h3><ul>{entries}</ul>
<form action="search.html"><input name="q"><input type="submit" value="Go"></form></div>
<div class="document" role="main"><h1>{escape(title)}</h1>
<div id="text">
{blocks(lines)}
</div></div>
<div class="footer">Built on {rng.randint(1, 28)} March 2024. Show source.</div></body></html>
"""


def forum(site: str, title: str, lines: tuple[str, ...], lang: str, code: str, meta: str, rng: Random) -> str:
    names = rng.sample(
        ("larkspur", "old_salt", "mirabelle", "tinker7", "northwind", "paper_boat", "quince", "bertram"), 4
    )
    posts = "\n".join(f"<p>{escape(line, quote=False)}</p>" for line in lines)
    users = "".join(f'<li><a href="/u/{name}">{name}</a> ({rng.randint(1, 4000)} posts)</li>' for name in names)
    return f"""<!DOCTYPE html><html lang="{code}"><head>{meta}<title>{escape(title)} - {site} forum</title></head>
<body><div class="top"><a href="/">Forum</a> | <a href="/register">Register</a> | <a href="/login">Log in</a></div>
<div class="thread"><h1>{escape(title)}</h1>
<div id="text">
{posts}
</div></div>
<div class="who"><h4>In this thread</h4><ul>{users}</ul></div>
<div class="reply"><a href="/login">Log in to reply</a></div></body></html>
"""


STYLES = {"news": news, "blog": blog, "plain": plain, "manual": manual, "forum": forum}
