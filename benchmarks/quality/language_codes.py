"""One code per language, whatever a set or a model calls it: ISO 639-3, macrolanguages for their members."""

ONE = dict(
    pair.split(":")
    for pair in """
aa:aar ab:abk af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak be:bel bg:bul bh:bih bm:bam bn:ben
bo:bod br:bre bs:hbs ca:cat ce:che ch:cha co:cos cs:ces cv:chv cy:cym da:dan de:deu dv:div dz:dzo ee:ewe el:ell en:eng
eo:epo es:spa et:est eu:eus fa:fas ff:ful fi:fin fj:fij fo:fao fr:fra fy:fry ga:gle gd:gla gl:glg gn:grn gu:guj gv:glv
ha:hau he:heb hi:hin hr:hbs ht:hat hu:hun hy:hye ia:ina id:msa ie:ile ig:ibo ik:ipk io:ido is:isl it:ita iu:iku ja:jpn
jv:jav ka:kat kg:kon ki:kik kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor kr:kau ks:kas ku:kur kv:kom kw:cor ky:kir la:lat
lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lu:lub lv:lav mg:mlg mi:mri mk:mkd ml:mal mn:mon mr:mar ms:msa mt:mlt my:mya
na:nau nb:nor nd:nde ne:nep nl:nld nn:nor no:nor nr:nbl nv:nav ny:nya oc:oci om:orm or:ori os:oss pa:pan pl:pol ps:pus
pt:por qu:que rm:roh rn:run ro:ron ru:rus rw:kin sa:san sc:srd sd:snd se:sme sg:sag sh:hbs si:sin sk:slk sl:slv sm:smo
sn:sna so:som sq:sqi sr:hbs ss:ssw st:sot su:sun sv:swe sw:swa ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl tn:tsn
to:ton tr:tur ts:tso tt:tat tw:aka ty:tah ug:uig uk:ukr ur:urd uz:uzb ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho yi:yid
yo:yor za:zha zh:zho zu:zul
""".split()
)
MACRO = dict(
    pair.split(":")
    for pair in """
acm:ara aln:sqi als:sqi apc:ara arb:ara arq:ara ars:ara ary:ara arz:ara azb:aze azj:aze bho:bih bjn:msa bos:hbs
cdo:zho cjy:zho ckb:ckb cmn:zho cnr:hbs cpx:zho czh:zho czo:zho ekk:est fat:aka fil:tgl fuc:ful fuv:ful gan:zho
gaz:orm gug:grn hae:orm hak:zho hnj:hmn hrv:hbs hsn:zho ind:msa jax:msa khk:mon kmr:kur ltg:ltg lvs:lav lzh:zho
max:msa min:msa mnp:zho mww:hmn nan:zho nno:nor nob:nor npi:nep ory:ori pbt:pus pbu:pus pes:fas plt:mlg pnb:lah
prs:fas pse:msa sdh:ckb sdn:srd skr:lah src:srd srd:srd sro:srd srp:hbs swh:swa twi:aka uzn:uzb uzs:uzb wuu:zho
ydd:yid yue:zho zlm:msa zsm:msa zyb:zha
""".split()
)
# Closely related languages with a code of their own, which MACRO merges.
EXACT = {
    "bs": "bos",
    "hr": "hrv",
    "sr": "srp",
    "sh": "srp",
    "id": "ind",
    "ms": "msa",
    "no": "nob",
    "nb": "nob",
    "nn": "nno",
}


def canonical(label: str, merged: bool = True) -> str:
    """`merged`: Bosnian, Croatian and Serbian count as one, and so do Malay and Indonesian, and Bokmål and Nynorsk."""
    code = label.partition("-")[0].partition("_")[0]
    if not merged and (code in EXACT or code in EXACT.values()):
        return EXACT.get(code, code)
    if len(code) == 3 and code[:2] in ("qu", "qv", "qw", "qx"):
        return "que"
    code = ONE.get(code, code)
    return MACRO.get(code, code)
