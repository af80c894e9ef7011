import { defineStrings } from '../i18n/i18n';

export const t = defineStrings({
  en: {
    zoom: 'Zoom',
    zoomIn: 'Zoom in',
    zoomOut: 'Zoom out',
    earlier: 'Earlier',
    later: 'Later',
    all: 'All',
    allShown: 'All is shown',
    closest: 'It cannot be closer',
    asTable: 'As a table',
    time: 'Time',
    missing: 'none',
    hint: 'Drag over a chart to zoom, double-click for all.',
  },
  zh: {
    zoom: '缩放',
    zoomIn: '放大',
    zoomOut: '缩小',
    earlier: '更早',
    later: '更晚',
    all: '全部',
    allShown: '已显示全部',
    closest: '不能再放大',
    asTable: '以表格显示',
    time: '时间',
    missing: '无',
    hint: '在图上拖动以放大，双击显示全部。',
  },
});
