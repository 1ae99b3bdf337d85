//! The fixed words of a result's page, by language. A language without words of its own gets the English ones.

use super::super::{Cost, Counts};
use super::duration;

/// The headings and sentences of a page.
#[derive(Debug)]
pub(in crate::research) struct Words {
    pub(in crate::research) code: &'static str,
    pub(in crate::research) demo_warning: &'static str,
    pub(super) warning: &'static str,
    pub(super) completed: &'static str,
    pub(super) insufficient: &'static str,
    pub(super) stopped: &'static str,
    pub(super) failed: &'static str,
    pub(super) cancelled: &'static str,
    pub(super) reason: &'static str,
    pub(super) summary: &'static str,
    pub(super) conclusion: &'static str,
    pub(super) confidence: &'static str,
    pub(super) confidences: [&'static str; 3],
    pub(super) key_findings: &'static str,
    pub(super) recommendations: &'static str,
    pub(super) open: &'static str,
    pub(super) findings: &'static str,
    pub(super) objections: &'static str,
    pub(super) requests: &'static str,
    pub(super) assignments: &'static str,
    pub(super) sources: &'static str,
    pub(super) uncited: &'static str,
    pub(super) changes: &'static str,
    pub(super) change_kinds: [&'static str; 4],
    pub(super) cost: &'static str,
    /// With `{iterations}`, `{runs}` and `{calls}`; `{in}` and `{out}`; `{work}` and `{whole}`.
    pub(super) cost_lines: [&'static str; 3],
    pub(super) compared: &'static str,
    pub(super) published: &'static str,
    pub(super) seen: &'static str,
    pub(super) grounding: &'static str,
    /// Names of what a partial result counts: assignments, findings, sources, open issues, open requests.
    counts: [&'static str; 5],
    partial: &'static str,
    unverified: &'static str,
}

impl Words {
    /// What a result without an answer holds.
    pub(in crate::research) fn partial(&self, counts: &Counts) -> String {
        let numbers =
            [counts.assignments, counts.findings, counts.sources, counts.open_issues, counts.open_requests];
        let held: Vec<String> =
            self.counts.iter().zip(numbers).map(|(name, number)| format!("{name}: {number}")).collect();
        format!("{} {}", self.partial, held.join(", "))
    }

    /// What a task used, a line each.
    pub(super) fn cost(&self, cost: &Cost) -> [String; 3] {
        let [runs, tokens, time] = self.cost_lines;
        [
            runs.replace("{iterations}", &cost.iterations.to_string())
                .replace("{runs}", &cost.agent_calls.to_string())
                .replace("{calls}", &cost.model_calls.to_string()),
            tokens
                .replace("{in}", &cost.prompt_tokens.to_string())
                .replace("{out}", &cost.completion_tokens.to_string()),
            time.replace("{work}", &duration(cost.working_ms)).replace("{whole}", &duration(cost.elapsed_ms)),
        ]
    }

    /// How many statements of the answer were not found in their sources.
    pub(in crate::research) fn unverified(&self, unverified: usize, all: usize) -> String {
        self.unverified.replace("{n}", &unverified.to_string()).replace("{all}", &all.to_string())
    }
}

/// The words of a language by its code; English where it has none here.
pub(in crate::research) fn words(language: Option<&str>) -> &'static Words {
    let code = language.unwrap_or_default().split(['-', '_']).next().unwrap_or_default();
    LANGUAGES.iter().find(|words| words.code == code).unwrap_or(&LANGUAGES[0])
}

static LANGUAGES: [Words; 6] = [
    Words {
        code: "en",
        demo_warning: "Demonstration data: this evidence is invented and did not come from the live web.",
        warning: "Warning",
        completed: "completed",
        insufficient: "insufficient evidence",
        stopped: "stopped early, a person should look",
        failed: "failed",
        cancelled: "cancelled",
        reason: "Reason",
        summary: "Summary",
        conclusion: "Conclusion",
        confidence: "Confidence",
        confidences: ["low", "medium", "high"],
        key_findings: "Key findings",
        recommendations: "Recommendations",
        open: "What is uncertain",
        findings: "All findings",
        objections: "What the critic said",
        requests: "Requested research that nobody did",
        assignments: "Assignments",
        sources: "Sources",
        uncited: "Found but not cited",
        changes: "What changed",
        change_kinds: ["New", "Changed", "Gone", "Unchanged"],
        cost: "Cost",
        cost_lines: [
            "{iterations} decisions of the manager, {runs} agent runs, {calls} model calls",
            "{in} tokens in, {out} tokens out",
            "{work} of work, {whole} from acceptance to the end",
        ],
        compared: "Compared with",
        published: "published",
        seen: "seen",
        grounding: "Levels: G3 quote and numbers found in the page, G2 in the search snippet only, G1 not found in \
                    the cited source, G0 no valid source. A found quote proves the words, not the conclusion.",
        counts: ["assignments", "findings", "sources", "open issues", "open requests"],
        partial: "There is no final answer. This partial result holds",
        unverified: "{n} of {all} key findings were not found in their sources; their levels are below G2.",
    },
    Words {
        code: "ja",
        demo_warning: "デモ用データ：この根拠は実演のために作られた架空のもので、実際のウェブから得たものではありません。",
        warning: "警告",
        completed: "完了",
        insufficient: "根拠不足",
        stopped: "途中で終了、人による確認が必要",
        failed: "失敗",
        cancelled: "取り消し",
        reason: "理由",
        summary: "要約",
        conclusion: "結論",
        confidence: "確度",
        confidences: ["低", "中", "高"],
        key_findings: "主な調査結果",
        recommendations: "提案",
        open: "不確かな点",
        findings: "すべての調査結果",
        objections: "批評者の指摘",
        requests: "実施されなかった追加調査",
        assignments: "調査課題",
        sources: "情報源",
        uncited: "見つかったが引用されなかったもの",
        changes: "前回からの変化",
        change_kinds: ["新規", "変更", "消滅", "変化なし"],
        cost: "費用",
        cost_lines: [
            "責任者の判断{iterations}回、エージェントの実行{runs}回、モデル呼び出し{calls}回",
            "入力{in}トークン、出力{out}トークン",
            "作業時間{work}、受付から終了まで{whole}",
        ],
        compared: "比較の対象",
        published: "公開日",
        seen: "取得日",
        grounding: "水準：G3は引用と数値がページ本文で確認できたもの、G2は検索結果の抜粋でのみ確認できたもの、G1は引用元で\
                    確認できなかったもの、G0は有効な情報源がないもの。引用が見つかったことは言葉の存在を示すだけで、結論の\
                    正しさを証明しません。",
        counts: ["調査課題", "調査結果", "情報源", "未解決の指摘", "未実施の依頼"],
        partial: "最終的な回答はありません。この部分的な結果に含まれるもの：",
        unverified: "主な調査結果{all}件のうち{n}件は情報源で確認できませんでした（G2未満）。",
    },
    Words {
        code: "pt",
        demo_warning: "Dados de demonstração: estas evidências são inventadas e não vieram da web.",
        warning: "Aviso",
        completed: "concluída",
        insufficient: "evidência insuficiente",
        stopped: "interrompida, uma pessoa deve verificar",
        failed: "falhou",
        cancelled: "cancelada",
        reason: "Motivo",
        summary: "Resumo",
        conclusion: "Conclusão",
        confidence: "Confiança",
        confidences: ["baixa", "média", "alta"],
        key_findings: "Principais resultados",
        recommendations: "Recomendações",
        open: "O que é incerto",
        findings: "Todos os resultados",
        objections: "O que o crítico disse",
        requests: "Pesquisas pedidas e não feitas",
        assignments: "Tarefas de pesquisa",
        sources: "Fontes",
        uncited: "Encontradas, mas não citadas",
        changes: "O que mudou",
        change_kinds: ["Novo", "Alterado", "Desapareceu", "Sem mudança"],
        cost: "Custo",
        cost_lines: [
            "{iterations} decisões do gerente, {runs} execuções de agentes, {calls} chamadas ao modelo",
            "{in} tokens de entrada, {out} de saída",
            "{work} de trabalho, {whole} da aceitação ao fim",
        ],
        compared: "Comparado com",
        published: "publicado em",
        seen: "visto em",
        grounding: "Níveis: G3 citação e números encontrados na página, G2 só no trecho da busca, G1 não encontrado \
                    na fonte citada, G0 sem fonte válida. Uma citação encontrada prova as palavras, não a conclusão.",
        counts: ["tarefas", "resultados", "fontes", "objeções em aberto", "pedidos em aberto"],
        partial: "Não há resposta final. Este resultado parcial contém",
        unverified: "{n} de {all} resultados principais não foram encontrados nas fontes (nível abaixo de G2).",
    },
    Words {
        code: "es",
        demo_warning: "Datos de demostración: estas pruebas son inventadas y no proceden de la web.",
        warning: "Aviso",
        completed: "completada",
        insufficient: "evidencia insuficiente",
        stopped: "detenida antes de tiempo, alguien debe revisarla",
        failed: "fallida",
        cancelled: "cancelada",
        reason: "Motivo",
        summary: "Resumen",
        conclusion: "Conclusión",
        confidence: "Confianza",
        confidences: ["baja", "media", "alta"],
        key_findings: "Hallazgos principales",
        recommendations: "Recomendaciones",
        open: "Lo que es incierto",
        findings: "Todos los hallazgos",
        objections: "Lo que dijo el crítico",
        requests: "Investigación pedida y no hecha",
        assignments: "Encargos",
        sources: "Fuentes",
        uncited: "Encontradas pero no citadas",
        changes: "Qué ha cambiado",
        change_kinds: ["Nuevo", "Cambiado", "Desaparecido", "Sin cambios"],
        cost: "Coste",
        cost_lines: [
            "{iterations} decisiones del gestor, {runs} ejecuciones de agentes, {calls} llamadas al modelo",
            "{in} tokens de entrada, {out} de salida",
            "{work} de trabajo, {whole} desde la aceptación hasta el final",
        ],
        compared: "Comparado con",
        published: "publicado el",
        seen: "visto el",
        grounding: "Niveles: G3 cita y cifras halladas en la página, G2 solo en el extracto de la búsqueda, G1 no \
                    hallado en la fuente citada, G0 sin fuente válida. Una cita hallada prueba las palabras, no la \
                    conclusión.",
        counts: ["encargos", "hallazgos", "fuentes", "objeciones abiertas", "peticiones abiertas"],
        partial: "No hay respuesta final. Este resultado parcial contiene",
        unverified: "{n} de {all} hallazgos principales no se encontraron en sus fuentes (nivel inferior a G2).",
    },
    Words {
        code: "de",
        demo_warning: "Demodaten: Diese Belege sind erfunden und stammen nicht aus dem Web.",
        warning: "Warnung",
        completed: "abgeschlossen",
        insufficient: "zu wenig Belege",
        stopped: "vorzeitig beendet, bitte ansehen",
        failed: "gescheitert",
        cancelled: "abgebrochen",
        reason: "Grund",
        summary: "Zusammenfassung",
        conclusion: "Fazit",
        confidence: "Sicherheit",
        confidences: ["gering", "mittel", "hoch"],
        key_findings: "Wichtigste Ergebnisse",
        recommendations: "Empfehlungen",
        open: "Was unsicher ist",
        findings: "Alle Ergebnisse",
        objections: "Was der Kritiker sagte",
        requests: "Verlangte Recherchen, die niemand gemacht hat",
        assignments: "Aufträge",
        sources: "Quellen",
        uncited: "Gefunden, aber nicht zitiert",
        changes: "Was sich geändert hat",
        change_kinds: ["Neu", "Geändert", "Weggefallen", "Unverändert"],
        cost: "Aufwand",
        cost_lines: [
            "{iterations} Entscheidungen des Managers, {runs} Agentenläufe, {calls} Modellaufrufe",
            "{in} Tokens hinein, {out} heraus",
            "{work} Arbeit, {whole} von der Annahme bis zum Ende",
        ],
        compared: "Verglichen mit",
        published: "veröffentlicht",
        seen: "gesehen",
        grounding: "Stufen: G3 Zitat und Zahlen auf der Seite gefunden, G2 nur im Suchausschnitt, G1 in der zitierten \
                    Quelle nicht gefunden, G0 keine gültige Quelle. Ein gefundenes Zitat beweist den Wortlaut, nicht \
                    die Schlussfolgerung.",
        counts: ["Aufträge", "Ergebnisse", "Quellen", "offene Einwände", "offene Nachfragen"],
        partial: "Es gibt keine endgültige Antwort. Dieses Teilergebnis enthält",
        unverified: "{n} von {all} wichtigsten Ergebnissen fanden sich nicht in ihren Quellen (Stufe unter G2).",
    },
    Words {
        code: "fr",
        demo_warning: "Données de démonstration : ces éléments sont inventés et ne viennent pas du web.",
        warning: "Avertissement",
        completed: "terminée",
        insufficient: "preuves insuffisantes",
        stopped: "arrêtée avant la fin, quelqu'un doit regarder",
        failed: "échouée",
        cancelled: "annulée",
        reason: "Raison",
        summary: "Résumé",
        conclusion: "Conclusion",
        confidence: "Confiance",
        confidences: ["faible", "moyenne", "élevée"],
        key_findings: "Principaux résultats",
        recommendations: "Recommandations",
        open: "Ce qui reste incertain",
        findings: "Tous les résultats",
        objections: "Ce qu'a dit le critique",
        requests: "Recherches demandées et non faites",
        assignments: "Missions",
        sources: "Sources",
        uncited: "Trouvées mais non citées",
        changes: "Ce qui a changé",
        change_kinds: ["Nouveau", "Modifié", "Disparu", "Inchangé"],
        cost: "Coût",
        cost_lines: [
            "{iterations} décisions du manager, {runs} exécutions d'agents, {calls} appels au modèle",
            "{in} jetons en entrée, {out} en sortie",
            "{work} de travail, {whole} de l'acceptation à la fin",
        ],
        compared: "Comparé à",
        published: "publié le",
        seen: "vu le",
        grounding: "Niveaux : G3 citation et chiffres trouvés dans la page, G2 seulement dans l'extrait de recherche, \
                    G1 introuvable dans la source citée, G0 aucune source valable. Une citation trouvée prouve les \
                    mots, pas la conclusion.",
        counts: ["missions", "résultats", "sources", "objections ouvertes", "demandes ouvertes"],
        partial: "Il n'y a pas de réponse finale. Ce résultat partiel contient",
        unverified: "{n} des {all} principaux résultats n'ont pas été trouvés dans leurs sources (niveau inférieur à G2).",
    },
];
